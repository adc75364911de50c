"""Structured logs: one JSON object per line, without vectors, rewards or keys."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

logger = logging.getLogger("eigenbandits.serve")


class JsonLines(logging.Formatter):
    """One record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def log_event(event: str, level: int = logging.INFO, *, trace: bool = False, **fields: Any) -> None:
    """Log an event with its fields."""
    logger.log(level, event, extra={"fields": fields}, exc_info=trace)


def to_stderr(level: str) -> None:
    """Send the logs, including those of the HTTP server, to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("eigenbandits.serve", "uvicorn.error"):
        target = logging.getLogger(name)
        target.handlers = [handler]
        target.propagate = False
        target.setLevel(level.upper() if name == "eigenbandits.serve" else logging.WARNING)
