"""The `sqlite-vec` extension, for every SQLite connection of this process.

Many builds of Python leave `enable_load_extension` out. Where it is missing, SQLite's own
`sqlite3_auto_extension` does the same, called in the very library that Python's module uses.
"""

import ctypes
import importlib.util
import sqlite3
import sys
from functools import cache
from pathlib import Path
from typing import Any


@cache
def problem() -> str | None:
    """Why vectors cannot be searched in SQLite; None when they can. The first call loads it."""
    if importlib.util.find_spec("sqlite_vec") is None:
        return "sqlite-vec is not installed"
    try:
        _register() if _is_automatic() else _try_loading()
    except (OSError, AttributeError, sqlite3.Error) as error:
        return f"sqlite-vec cannot be loaded: {error}"
    return None


def load(connection: Any) -> None:
    """For one connection, as its pool's driver gives it; where SQLite does so itself, nothing."""
    if not _is_automatic() and problem() is None:
        connection.run_async(_load_later)


def _is_automatic() -> bool:
    return not hasattr(sqlite3.Connection, "enable_load_extension")


def _path() -> Path:
    """Beside the package, which itself is not imported: it would bring numpy along."""
    package = importlib.util.find_spec("sqlite_vec")
    if package is None or package.origin is None:
        raise OSError("its package is not there")
    suffix = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
    return Path(package.origin).with_name("vec0").with_suffix(suffix)


def _register() -> None:
    module = importlib.util.find_spec("_sqlite3")
    if module is None or module.origin is None:
        raise OSError("this Python's SQLite is no library of its own")
    # Symbols are looked for in what the module is linked with as well.
    sqlite = ctypes.CDLL(module.origin)
    entry = ctypes.CDLL(str(_path())).sqlite3_vec_init
    if sqlite.sqlite3_auto_extension(entry) != 0:
        raise OSError("SQLite does not take it")
    with sqlite3.connect(":memory:") as connection:
        connection.execute("SELECT vec_version()")
    connection.close()


def _try_loading() -> None:
    connection = sqlite3.connect(":memory:")
    try:
        _load(connection)
        connection.execute("SELECT vec_version()")
    finally:
        connection.close()


def _load(connection: Any) -> None:
    connection.enable_load_extension(True)
    connection.load_extension(str(_path().with_suffix("")))
    connection.enable_load_extension(False)


async def _load_later(connection: Any) -> None:
    await connection.enable_load_extension(True)
    await connection.load_extension(str(_path().with_suffix("")))
    await connection.enable_load_extension(False)
