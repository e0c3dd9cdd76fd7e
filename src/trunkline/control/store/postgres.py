"""What a connection to PostgreSQL needs besides its driver: to be found dead when it is, on both of
its ends.

Knows nothing of what the connection is for.
"""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncpg

SILENT_S = 30
"""A database that has not even acknowledged anything for so long is gone, or the way to it is."""
_ASKED_EVERY_S = 10

_AT_THE_DATABASE = {
    # A host that is gone says nothing: what it held is let go after a minute.
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "60000",
    # Also where something in between answers for it, and where the process alone stands still.
    "idle_in_transaction_session_timeout": "60000",
}
_VALUES = ", ".join(f"('{name}', '{value}')" for name, value in _AT_THE_DATABASE.items())
# Not parameters of the connection's start: a pooler in between may refuse those. What an older
# database does not know is left out.
_SET = (
    f"SELECT set_config(name, value, false) FROM (VALUES {_VALUES}) AS wanted(name, value)"  # noqa: S608
    " WHERE current_setting(name, true) IS NOT NULL"
)


def notice_silence(connection: Any, _record: object = None) -> None:
    """Left to itself, TCP tries for a quarter of an hour, and asks a connection that says nothing
    after two hours."""
    _notice_here(connection)
    try:
        connection.run_async(lambda driver: driver.execute(_SET))
    except BaseException:
        connection.driver_connection.terminate()  # no pool has it yet
        raise


def _notice_here(connection: Any) -> None:
    sock = connection.driver_connection._transport.get_extra_info("socket")
    if sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", _ASKED_EVERY_S),
        ("TCP_KEEPINTVL", _ASKED_EVERY_S),
        ("TCP_KEEPCNT", SILENT_S // _ASKED_EVERY_S),
        ("TCP_USER_TIMEOUT", 1000 * SILENT_S),
    ):
        if (option := getattr(socket, name, None)) is not None:  # as the system has them
            sock.setsockopt(socket.IPPROTO_TCP, option, value)


@contextmanager
def answers_within(connection: "asyncpg.Connection", limit_s: float) -> Iterator[None]:
    """Ends the connection if it has not answered by then, and whoever waits for it hears that it is
    lost. One that is dead without a word answers nothing: to be cancelled or closed in order,
    the driver would wait for it, too."""
    late = asyncio.get_running_loop().call_later(limit_s, connection.terminate)
    try:
        yield
    except BaseException:
        connection.terminate()
        raise
    finally:
        late.cancel()
