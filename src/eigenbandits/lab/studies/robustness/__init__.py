"""EigenUCB where low rank holds, where it half holds and where it fails, beside its rivals on the same seeds."""
