"""The typed Python client of the REST API, for the terminal, for tests and for other programs.

`async with Client(url, token) as client:` gives records, sessions and live streams that resume.
Imports nothing of the control plane: what it knows is what the API's documents say.
"""

from trunkline.client.client import Client
from trunkline.client.errors import ApiError, ClientError, StreamBroken, Unreachable
from trunkline.client.models import Approval, Event, Page, Session

__all__ = [
    "ApiError",
    "Approval",
    "Client",
    "ClientError",
    "Event",
    "Page",
    "Session",
    "StreamBroken",
    "Unreachable",
]
