"""The typed Python client of the REST API, for the terminal, for tests and for other programs.

`async with Client() as client:` or, without coroutines, `with SyncClient() as client:` gives
records, sessions and live streams that resume. Imports nothing of the control plane: what it knows
is what the API's documents say.
"""

from trunkline.client.client import Client
from trunkline.client.errors import (
    ApiError,
    ClientError,
    NoServer,
    StreamBroken,
    TimedOut,
    TurnFailed,
    Unreachable,
    WrongServer,
)
from trunkline.client.models import Answer, Approval, Event, Page, Reply, Session
from trunkline.client.sync import SyncClient, SyncStream

__all__ = [
    "Answer",
    "ApiError",
    "Approval",
    "Client",
    "ClientError",
    "Event",
    "NoServer",
    "Page",
    "Reply",
    "Session",
    "StreamBroken",
    "SyncClient",
    "SyncStream",
    "TimedOut",
    "TurnFailed",
    "Unreachable",
    "WrongServer",
]
