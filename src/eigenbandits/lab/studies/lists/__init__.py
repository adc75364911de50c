"""Lists of films: ten of a hundred by this library and by others, on MovieLens."""
