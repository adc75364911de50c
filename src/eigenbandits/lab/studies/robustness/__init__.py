"""EigenUCB where low rank holds, where it half holds and where it fails, compared with its rivals on the same seeds."""
