"""The tables of the service, in words that SQLite and PostgreSQL share."""

from __future__ import annotations

VERSION = 1

# INT, REAL8 and BYTES are replaced by each database's own word. `policies` holds the head of each policy's log, which
# moves in the same transaction as the rows that it counts; the other rows are only ever added, until they are pruned.
TABLES = (
    "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS keys (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, scopes TEXT NOT NULL, digest BYTES NOT NULL,
        created_at REAL8 NOT NULL, revoked_at REAL8)""",
    """CREATE TABLE IF NOT EXISTS catalogues (
        id INT PRIMARY KEY, name TEXT NOT NULL UNIQUE, dim INT NOT NULL, center TEXT NOT NULL, mean BYTES NOT NULL,
        digest TEXT NOT NULL, version INT NOT NULL, created_at REAL8 NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS items (
        catalogue INT NOT NULL, slot INT NOT NULL, item TEXT NOT NULL, added INT NOT NULL, removed INT,
        vector BYTES NOT NULL, PRIMARY KEY (catalogue, slot))""",
    """CREATE TABLE IF NOT EXISTS policies (
        id INT PRIMARY KEY, name TEXT NOT NULL UNIQUE, spec TEXT NOT NULL, created_at REAL8 NOT NULL,
        position INT NOT NULL, number INT NOT NULL, rewards INT NOT NULL, defaults INT NOT NULL, expired INT NOT NULL,
        expired_through INT NOT NULL, pruned_through INT NOT NULL, last_at REAL8 NOT NULL)""",
    # One row per batch, in the order in which the policy saw them: the log that a policy is rebuilt from.
    """CREATE TABLE IF NOT EXISTS events (
        policy INT NOT NULL, position INT NOT NULL, kind TEXT NOT NULL, content BYTES NOT NULL,
        PRIMARY KEY (policy, position))""",
    """CREATE TABLE IF NOT EXISTS decisions (
        policy INT NOT NULL, number INT NOT NULL, request TEXT, chosen INT NOT NULL, size INT NOT NULL,
        item TEXT, propensity REAL8, estimate REAL8 NOT NULL, upper REAL8 NOT NULL, decided_at REAL8 NOT NULL,
        content BYTES NOT NULL, PRIMARY KEY (policy, number))""",
    "CREATE UNIQUE INDEX IF NOT EXISTS requests ON decisions (policy, request) WHERE request IS NOT NULL",
    # The primary key is what keeps a reward from counting twice, whatever happens above it.
    """CREATE TABLE IF NOT EXISTS rewards (
        policy INT NOT NULL, number INT NOT NULL, reward REAL8, kind TEXT NOT NULL, rewarded_at REAL8 NOT NULL,
        PRIMARY KEY (policy, number))""",
    """CREATE TABLE IF NOT EXISTS history (
        policy INT NOT NULL, start INT NOT NULL, decisions INT NOT NULL, rewards INT NOT NULL,
        reward_sum REAL8 NOT NULL, defaults INT NOT NULL, PRIMARY KEY (policy, start))""",
    """CREATE TABLE IF NOT EXISTS snapshots (
        policy INT NOT NULL, position INT NOT NULL, content BYTES NOT NULL, PRIMARY KEY (policy, position))""",
)

OF_A_POLICY = ("events", "decisions", "rewards", "history", "snapshots")
