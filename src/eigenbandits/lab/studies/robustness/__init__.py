"""EigenUCB where low rank holds, where it partly holds and where it fails, compared on the same seeds."""
