"""The interfaces of other libraries: Gymnasium, scikit-learn, MCP; each module needs its own extra, if any."""
