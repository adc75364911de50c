"""The service over HTTP: routes, middleware and wire models."""
