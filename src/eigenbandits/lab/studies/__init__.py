"""The studies of this library, each one module or folder."""
