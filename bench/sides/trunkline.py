"""Trunkline itself: the real server with its durable log on, set up over its own REST API.

One line carries all sessions of a measurement, as one machine does. `Trunkline` takes the wire as
documented, a frame an event, with the rate limit off, because a limit of 1000 messages a minute is
what it would measure. `DaemonPath` takes the way of our own daemon, with the limit on. Nothing else
is changed.
"""

import json
import os
import secrets
import sys
from pathlib import Path
from typing import Any, ClassVar

from bench.budgets import (
    DAEMON_BATCH_ROWS,
    DAEMON_GAP_S,
    IDLE_READERS_PER_SESSION,
    LAST_PAGE_EVENTS,
    LONG_SESSION_EVENTS,
    REPLAY_EVENTS,
    REPLAY_PUBLISHED,
    SERVER_CORE,
)
from bench.commands import (
    Done,
    Heartbeat,
    LineSpec,
    OpenLines,
    OpenStreams,
    Replay,
    Step,
    StreamSpec,
)
from bench.generator.client import GeneratorClient
from bench.processes import Server, free_port
from bench.sides.base import batched, envelope
from bench.sides.rest import JSON_INT_MAX, Rest
from bench.sides.wires import SEMIBOT, YEAFT_FULL, AgpWire, Wire, YeaftWire

_PROGRAM = Path(sys.executable).parent / "trunkline"


class Trunkline:
    """The side."""

    name = "trunkline"
    env: ClassVar[dict[str, str]] = {
        "TRUNKLINE_RATE_LIMIT_PER_MINUTE": "0",
        "TRUNKLINE_CONNECTIONS_PER_USER_MAX": "10000",
    }

    def __init__(self) -> None:
        self.server: Server | None = None
        self._port = 0
        self._folder = Path()
        self._admin_token = ""
        self._rest: Rest | None = None
        self._users = 0
        self._lines = 0
        self._idle_machine: tuple[str, str] | None = None

    @staticmethod
    def available() -> bool:
        return _PROGRAM.exists()

    def start(self, folder: Path) -> None:
        self._port = free_port()
        self._folder = folder
        self._admin_token = secrets.token_urlsafe(32)
        self._idle_machine = None
        self.launch()

    def launch(self, look_s: float = 0.05) -> None:
        """Starts the server on what is in the folder: nothing, or what one before it has left. It
        is looked every so often whether it is ready."""
        env = {name: text for name, text in os.environ.items() if not _is_setting(name)}
        env |= {
            "TRUNKLINE_PORT": str(self._port),
            "TRUNKLINE_DATA": str(self._folder / "data"),
            "TRUNKLINE_ADMIN_TOKEN": self._admin_token,
            **self.settings(),
        }
        self.server = Server([str(_PROGRAM), "control"], self._folder, SERVER_CORE, env)
        self.server.wait_ready(f"http://127.0.0.1:{self._port}/readyz", look_s)
        self._rest = Rest(self._port, self._admin_token)

    def settings(self) -> dict[str, str]:
        """What is not as by default."""
        return self.env

    def open(self, generator: GeneratorClient, sessions: int, readers: int) -> None:
        self._lines = 0
        user_id, machine_id, line = self._open_line(generator)
        token = self._api().user_token(user_id)
        ids = [self._api().new_session(token, machine_id) for _ in range(sessions)]
        self._announce(generator, line, ids)
        streams = [self._stream(line, session_id, token) for session_id in ids]
        generator.ask(OpenStreams(self._port, streams, readers), Done)

    def open_machine(self, generator: GeneratorClient) -> tuple[Rest, str, str]:
        """A machine on line 0, for who makes its sessions over REST: with a user's token."""
        self._lines = 0
        user_id, machine_id, _ = self._open_line(generator)
        return self._api(), self._api().user_token(user_id), machine_id

    def open_idle_lines(self, generator: GeneratorClient, count: int) -> None:
        specs = [self._new_machine()[2] for _ in range(count)]
        generator.ask(OpenLines(self._port, specs), Done)
        self._lines += count

    def open_idle_readers(self, generator: GeneratorClient, count: int) -> None:
        if self._idle_machine is None:
            self._lines = 0
            user_id, machine_id, _ = self._open_line(generator)
            self._idle_machine = (machine_id, self._api().user_token(user_id))
        machine_id, token = self._idle_machine
        sessions = max(1, count // IDLE_READERS_PER_SESSION)
        ids = [self._api().new_session(token, machine_id) for _ in range(sessions)]
        streams = [self._stream(0, session_id, token) for session_id in ids]
        generator.ask(OpenStreams(self._port, streams, count // sessions), Done)

    def replay(self, generator: GeneratorClient, times: int) -> Replay | None:
        session_id, headers = self._open_one(generator)
        path = stream_path(session_id, "{after}")
        return Replay(self._port, path, headers, REPLAY_PUBLISHED, REPLAY_EVENTS, times)

    def last_page(self, generator: GeneratorClient) -> Replay:
        """Open one session with a reader and say how it is filled; how its last page is read."""
        session_id, headers = self._open_one(generator)
        query = f"before={JSON_INT_MAX}&limit={LAST_PAGE_EVENTS}"
        path = f"/api/v1/sessions/{session_id}/events?{query}"
        return Replay(self._port, path, headers, LONG_SESSION_EVENTS, LAST_PAGE_EVENTS, 0)

    def _open_one(self, generator: GeneratorClient) -> tuple[str, dict[str, str]]:
        """A session with one reader; its id, and the headers of those who may read it."""
        self._lines = 0
        user_id, machine_id, line = self._open_line(generator)
        token = self._api().user_token(user_id)
        session_id = self._api().new_session(token, machine_id)
        self._announce(generator, line, [session_id])
        stream = self._stream(line, session_id, token)
        generator.ask(OpenStreams(self._port, [stream], 1), Done)
        return session_id, stream.headers

    def wires(self) -> list[Wire]:
        """Every wire that machines stream on, the Semibot wire first."""
        rest = self._api()
        self._users += 1
        user_id = rest.new_user(f"bench-{self._users}")
        return [
            SemibotWire(self),
            YeaftWire(self._port, rest, user_id),
            YeaftWire(self._port, rest, user_id, YEAFT_FULL),
            AgpWire(self._port, rest, user_id),
        ]

    def _open_line(self, generator: GeneratorClient) -> tuple[str, str, int]:
        user_id, machine_id, spec = self._new_machine()
        generator.ask(OpenLines(self._port, [spec]), Done)
        self._lines += 1
        return user_id, machine_id, self._lines - 1

    def _new_machine(self) -> tuple[str, str, LineSpec]:
        self._users += 1
        user_id = self._api().new_user(f"bench-{self._users}")
        vm = self._api().new_vm(user_id)
        path = f"/ws/vm?user_id={user_id}&ticket={vm['ticket']}"
        return user_id, vm["vm_id"], self._line(path, {"type": "auth", "token": vm["token"]})

    def _line(self, path: str, auth: dict[str, Any]) -> LineSpec:
        handshake = [Step(says=json.dumps(auth)), Step(awaits='"init"')]
        return LineSpec(path=path, handshake=handshake, heartbeat=heartbeat([]))

    def _stream(self, line: int, session_id: str, token: str) -> StreamSpec:
        head, tail = envelope(session_id)
        return StreamSpec(line, head, tail, stream_path(session_id), _bearer(token))

    @staticmethod
    def _announce(generator: GeneratorClient, line: int, session_ids: list[str]) -> None:
        generator.ask(Heartbeat(line, heartbeat(session_ids)), Done)

    def _api(self) -> Rest:
        assert self._rest is not None
        return self._rest


class DaemonPath(Trunkline):
    """The same server, reached as our own daemon does: the rate limit as it is by default, events
    numbered (`seq`), thousands of them in one frame (`batch`), frames at the daemon's pace."""

    name = "trunkline, as its daemon sends"
    env: ClassVar[dict[str, str]] = {}

    def replay(self, generator: GeneratorClient, times: int) -> Replay | None:
        """A reader's business: the line makes no difference to it."""
        return None

    def _line(self, path: str, auth: dict[str, Any]) -> LineSpec:
        spec = super()._line(path, {**auth, "capabilities": ["seq", "batch"]})
        spec.batch_rows, spec.gap_s = DAEMON_BATCH_ROWS, DAEMON_GAP_S
        return spec

    def _stream(self, line: int, session_id: str, token: str) -> StreamSpec:
        head, tail = batched(session_id)
        return StreamSpec(line, head, tail, stream_path(session_id), _bearer(token))


class SemibotWire:
    """What every other measurement of this side uses too."""

    name = SEMIBOT

    def __init__(self, side: Trunkline) -> None:
        self._side = side

    def open(self, generator: GeneratorClient, sessions: int) -> None:
        self._side.open(generator, sessions, 1)


def stream_path(session_id: str, after: int | str = 0) -> str:
    return f"/api/v1/sessions/{session_id}/stream?last_event_id={after}"


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def heartbeat(session_ids: list[str]) -> str:
    return json.dumps({"type": "heartbeat", "active_sessions": session_ids})


def _is_setting(name: str) -> bool:
    """A setting of whoever runs the suite must not change what is measured."""
    return name.startswith("TRUNKLINE_")
