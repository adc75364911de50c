"""Papers whose experiments can be run again, one folder each."""
