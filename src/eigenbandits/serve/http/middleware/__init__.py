"""ASGI middleware, one concern per file; `application` wraps each endpoint in what its row declares."""
