"""Trunkline with a crowd: a thousand users with a machine, a session and a token each.

They are made over REST once for each start of the server, and then open their lines as machines do
that were away: without a ticket, with `resume` after `init`. On SQLite, and on a PostgreSQL that
waits for the disk and shares the server's core.
"""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path

from tests.unit.control.postgres import NoPostgres, Postgres

from bench.budgets import CROWD_LINES_PER_STEP, SERVER_CORE
from bench.commands import Done, Herd, LineSpec, OpenLines, OpenStreams, Step, StreamSpec
from bench.generator.client import GeneratorClient
from bench.processes import StartError, pin
from bench.sides.base import close_all, running
from bench.sides.trunkline import Trunkline, heartbeat, stream_path

_RESUME = '{"type":"resume","pending_ids":[]}'


@dataclass(frozen=True)
class Member:
    """One of the crowd."""

    user_id: str
    user_token: str
    vm_token: str
    session_id: str


class CrowdedTrunkline(Trunkline):
    """The side."""

    def __init__(self) -> None:
        super().__init__()
        self._members: list[Member] = []

    def start(self, folder: Path) -> None:
        self._members = []
        super().start(folder)

    def open_crowd(self, generator: GeneratorClient, lines: int, readers: int) -> None:
        while len(self._members) < lines:
            self._more_members(generator, min(CROWD_LINES_PER_STEP, lines - len(self._members)))
        crowd = self._members[:lines]
        streams = self._streams(crowd, 0)
        for start in range(0, lines, CROWD_LINES_PER_STEP):
            some = slice(start, start + CROWD_LINES_PER_STEP)
            specs = [self._returning(one) for one in crowd[some]]
            generator.ask(OpenLines(self._port, specs), Done)
            generator.ask(OpenStreams(self._port, streams[some], readers), Done)

    def herd(self, lines: int, readers: int, missed: int) -> Herd:
        """How the crowd that is open now comes back after a kill: readers from before the last
        events. Looked up while the server still runs: a herd comes to one that has seen nobody."""
        crowd = self._members[:lines]
        specs = [self._returning(one) for one in crowd]
        return Herd(self._port, specs, self._streams(crowd, missed), readers, missed, [])

    def _streams(self, crowd: list[Member], missed: int) -> list[StreamSpec]:
        """Readers of each session who have all of it but the last events."""
        streams = []
        for line, one in enumerate(crowd):
            after = self._api().last_event_id(one.user_token, one.session_id) - missed
            stream = self._stream(line, one.session_id, one.user_token)
            stream.path = stream_path(one.session_id, after)
            streams.append(stream)
        return streams

    def pids(self) -> list[int]:
        """Of what works for it, with their children."""
        return [running(self).pid]

    def _more_members(self, generator: GeneratorClient, count: int) -> None:
        """A machine is there when its line was open once."""
        made = [self._new_machine() for _ in range(count)]
        generator.ask(OpenLines(self._port, [spec for _, _, spec in made]), Done)
        for user_id, machine_id, spec in made:
            token = self._api().user_token(user_id)
            session_id = self._api().new_session(token, machine_id)
            vm_token = json.loads(spec.handshake[0].says)["token"]
            self._members.append(Member(user_id, token, vm_token, session_id))
        close_all(generator)

    def _returning(self, one: Member) -> LineSpec:
        path = f"/ws/vm?user_id={one.user_id}"
        spec = self._line(path, {"type": "auth", "token": one.vm_token})
        spec.handshake[-1].says = _RESUME
        spec.heartbeat = heartbeat([one.session_id])
        spec.handshake.append(Step(awaits='"resume_response"', says=spec.heartbeat))
        return spec


class OnPostgres(CrowdedTrunkline):
    """The same with everything in a PostgreSQL of its own."""

    name = "trunkline, PostgreSQL"

    def __init__(self) -> None:
        super().__init__()
        self._postgres: Postgres | None = None
        self._url = ""

    def start(self, folder: Path) -> None:
        self.stop_database()
        try:
            self._postgres = Postgres(is_durable=True)
        except NoPostgres as error:
            raise StartError(str(error)) from error
        pin(self._postgres.pid, SERVER_CORE)
        self._url = asyncio.run(self._postgres.new_database())
        super().start(folder)

    def settings(self) -> dict[str, str]:
        return {**super().settings(), "TRUNKLINE_DATABASE_URL": self._url}

    def pids(self) -> list[int]:
        assert self._postgres is not None
        return [*super().pids(), self._postgres.pid]

    def stop_database(self) -> None:
        if self._postgres is not None:
            self._postgres.stop()
            self._postgres = None
