"""ASGI middleware, one concern in each file; `application` puts around each endpoint what its row declares."""
