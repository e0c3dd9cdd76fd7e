"""The interface of a side, and how the suite asks one to open what a scenario needs.

A side is started once a round and serves every scenario of it; `open` makes fresh sessions.
"""

from pathlib import Path
from typing import Protocol

from bench.commands import EVENT_HEAD, EVENT_TAIL, NEW_SEQ, CloseAll, Done, Replay
from bench.generator.client import GeneratorClient
from bench.processes import Server

PLAIN_HEAD = EVENT_HEAD
PLAIN_TAIL = EVENT_TAIL


class Side(Protocol):
    """A server under test."""

    name: str
    server: Server | None

    def start(self, folder: Path) -> None:
        """Bring the server up in this empty folder; raises `StartError`."""

    def open(self, generator: GeneratorClient, sessions: int, readers: int) -> None:
        """Let the generator open the lines and readers of fresh sessions."""

    def open_idle_lines(self, generator: GeneratorClient, count: int) -> None:
        """Let the generator open this many more lines that carry nothing but heartbeats."""

    def open_idle_readers(self, generator: GeneratorClient, count: int) -> None:
        """Let the generator open this many more readers of sessions where nothing happens."""

    def replay(self, generator: GeneratorClient, times: int) -> Replay | None:
        """Open one session with a reader and say how to replay it; None where it cannot."""


class CrowdSide(Side, Protocol):
    """One that is also measured with a line for each session."""

    def open_crowd(self, generator: GeneratorClient, lines: int, readers: int) -> None:
        """Let the generator open so many lines, each with one session and its readers."""


def stop(side: Side) -> None:
    """End the side's server, if it runs."""
    if side.server is not None:
        side.server.stop()
        side.server = None


def running(side: Side) -> Server:
    """The side's server; it must have been started."""
    assert side.server is not None, f"{side.name} is not running"
    return side.server


def close_all(generator: GeneratorClient) -> None:
    """Close what the generator holds open."""
    generator.ask(CloseAll(), Done)


def envelope(session_id: str) -> tuple[str, str]:
    """Head and tail of document 000's `sse_event` around an event's content.

    The event is a JSON text inside JSON, so its quotes are escaped.
    """
    head = f'{{"type":"sse_event","session_id":"{session_id}","data":"'
    return head + EVENT_HEAD.replace('"', '\\"'), EVENT_TAIL.replace('"', '\\"') + '"}'


def batched(session_id: str) -> tuple[str, str]:
    """As `envelope`, for an event with its number inside of a batch."""
    head = f'{{"session_id":"{session_id}","data":"' + EVENT_HEAD.replace('"', '\\"')
    return head, EVENT_TAIL.replace('"', '\\"') + f'","seq":{NEW_SEQ}}}'
