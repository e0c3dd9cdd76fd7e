"""What a Yeaft agent says outside of its conversations: passed on to its user's clients.

An id in it may be that of a session which is not this agent's: then it is refused. Only the
records can tell, because what an agent has of its own may have ids of the same form as ours.
"""

import re
from collections.abc import Callable
from typing import Any

import msgspec
from sqlalchemy import select

from trunkline import limits
from trunkline.control.core import Core
from trunkline.control.ids import may_be_ours
from trunkline.control.machines.machine import Machine
from trunkline.control.store import schema
from trunkline.wire.errors import Malformed
from trunkline.wire.yeaft import codec, names, outward_frames
from trunkline.wire.yeaft.agent_talk import PROTOCOL

_LIST, _VOUCHED = "session_list_updated", "projectsAuthoritative"
_MARKED = re.compile(r'"(requestId|_requestClientId)"')


class Outside:
    """Of one line. Messages of one id keep their order."""

    def __init__(self, core: Core, machine: Machine, refuse: Callable[[str], None]) -> None:
        self._core = core
        self._machine = machine
        self._refuse = refuse
        self._is_session: dict[str, bool] = {}
        """Ids that were looked up, the newest ones."""
        self._waiting: dict[str, list[str]] = {}
        self._count = 0
        self._chars = 0

    def take(self, name: str | None, text: str) -> None:
        """`name`: what the message is said to be of, if it says so."""
        if name is None or not may_be_ours(name):
            self.pass_on(text)
        elif name in self._is_session:
            self._decide(name, text)
        else:
            self._wait(name, text)

    def _wait(self, name: str, text: str) -> None:
        is_full = self._count >= limits.YEAFT_OUTSIDE_WAITING_MAX
        if is_full or self._chars + len(text) > limits.YEAFT_OUTSIDE_WAITING_CHARS_MAX:
            raise Malformed("too much waits until it is known whose it is")
        self._count += 1
        self._chars += len(text)
        if name in self._waiting:
            self._waiting[name].append(text)
        else:
            self._waiting[name] = [text]
            self._core.tasks.spawn(self._look_up(name), "yeaft agent's own things")

    async def _look_up(self, name: str) -> None:
        table, found = schema.sessions, None
        try:
            async with self._core.store.read() as connection:
                found = await connection.scalar(select(table.c.id).where(table.c.id == name))
            self._is_session[name] = found is not None
            if len(self._is_session) > limits.YEAFT_REFUSED_IDS_MAX:
                del self._is_session[next(iter(self._is_session))]
        finally:
            texts = self._waiting.pop(name)
            self._count -= len(texts)
            self._chars -= sum(map(len, texts))
        for text in texts:
            self._decide(name, text)

    def _decide(self, name: str, text: str) -> None:
        if self._is_session[name]:
            self._refuse(name)
        else:
            self.pass_on(text)

    def pass_on(self, text: str) -> None:
        """As it came, but for what the server has to add; it is kept nowhere."""
        machine = self._machine
        self._core.relay.publish(PROTOCOL, machine.user_id, machine.id, vouched(text))


def vouched(text: str) -> str:
    """A page that is shown an agent's list of its own sessions keeps what it has only if the server
    says that the list's projects are all there are."""
    if f'"{_LIST}"' not in text:
        return text
    fields = codec.fields(text)
    holder = fields if fields.get("type") == _LIST else fields.get("event")
    if not isinstance(holder, dict) or holder.get("type") != _LIST or holder.get(_VOUCHED) is True:
        return text
    holder[_VOUCHED] = True
    return outward_frames.encode(fields).decode()


class _Answer(msgspec.Struct):
    request: Any = msgspec.field(name="requestId", default=None)
    client: Any = msgspec.field(name="_requestClientId", default=None)


def is_answer(name: str, text: str) -> bool:
    """Whether it answers what one client asked (a file's content, a terminal's output): even one of
    a conversation is no part of its history."""
    if names.canonical(name) in names.RELEASED or not _MARKED.search(text):
        return False
    found = codec.read(text, _Answer)
    return found.request is not None or found.client is not None
