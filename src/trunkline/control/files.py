"""Which databases and files of its own a control plane has, by its settings."""

from pathlib import Path

from sqlalchemy.engine import make_url

from trunkline.control.access.keys import digest
from trunkline.control.settings import Settings
from trunkline.control.store.backup import sqlite_file
from trunkline.control.store.engine import sqlite_url


def store_url(settings: Settings) -> str:
    """The address of the records."""
    return settings.database_url or sqlite_url(settings.data_dir / "trunkline.db")


def log_file(settings: Settings) -> Path | None:
    """The log's database; None where it is PostgreSQL."""
    url = settings.database_url
    return settings.data_dir / "log.db" if url is None or url.startswith("sqlite") else None


def records_file(settings: Settings) -> Path | None:
    """The same of the records; also None where they are in memory."""
    return sqlite_file(make_url(store_url(settings)))


def heads_file(settings: Settings) -> Path:
    """Where heads of the audit log are noted. Another database has another log."""
    if settings.database_url is None:
        return settings.data_dir / "audit-heads"
    place = make_url(settings.database_url).set(password=None).render_as_string()
    return settings.data_dir / f"audit-heads-{digest(place)[:8]}"
