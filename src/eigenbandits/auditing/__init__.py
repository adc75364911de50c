"""What vectors alone can say of whether this library pays for them, before any reward is known."""

from eigenbandits.auditing.findings import Audit, audit

__all__ = ["Audit", "audit"]
