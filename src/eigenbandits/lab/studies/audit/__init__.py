"""What a set of vectors shows before any reward is known, and which policy to start with."""

from eigenbandits.lab.studies.audit.report import Audit, audit

__all__ = ["Audit", "audit"]
