"""The service's storage: SQLite in a folder, or PostgreSQL."""

from eigenbandits.serve.settings import Settings
from eigenbandits.serve.storage.base import Connection, Database
from eigenbandits.serve.storage.postgres import PostgresDatabase
from eigenbandits.serve.storage.sqlite import SqliteDatabase

__all__ = ["Connection", "Database", "PostgresDatabase", "SqliteDatabase", "database_of"]


def database_of(settings: Settings) -> Database:
    """Return the database that the settings name."""
    return PostgresDatabase(settings.database) if settings.database else SqliteDatabase(settings.folder)
