"""What a Yeaft server is told of this machine's conversations: which there are, which are active.

A deployed server drops what is said in conversations that were not named on its line, and ends of
turns that it does not know to run: the line asks here before a session speaks. What is said in them
is the line's.
"""

from collections.abc import Callable

from trunkline import limits
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.ws.foreign.names import Names
from trunkline.execution.ws.foreign.yeaft_queries import back
from trunkline.wire.errors import Malformed
from trunkline.wire.yeaft.outward_frames import envelope
from trunkline.wire.yeaft.web import Request

LIST = envelope("conversation_list")
"""Stands for the list among messages that wait: what it says is true when it is sent."""


class Conversations:
    """Of one line after the other. `active` are the sessions that run, `busy` those with a turn of
    which the server has not been told the end; `folder` is where one works; `say` sends what is of
    use now, or not at all."""

    def __init__(
        self,
        home: Home,
        names: Names,
        active: Callable[[], list[str]],
        busy: Callable[[], set[str]],
        folder: Callable[[str], str],
        say: Callable[[bytes], None],
    ) -> None:
        self._home = home
        self._folder = folder
        self._names = names
        self._active = active
        self._busy = busy
        self._say = say
        self._named: dict[str, None] = {}
        """Those that the server was told of on this line."""
        self._deleted: dict[str, None] = {}
        """Those of which it wants to hear nothing more."""
        self.takes: dict[str, Callable[[Request], None]] = {
            "get_conversations": lambda _request: self._say(self.listed()),
            "refresh_conversation": self._refresh,
            "ping_session": self._ping,
        }

    def session_of(self, request: Request) -> str:
        try:
            return self._names.local(request.need("conversationId"))
        except ValueError as error:
            raise Malformed(str(error)) from error

    def is_here(self, session_id: str) -> bool:
        try:
            return self._home.session(session_id).is_dir()
        except ValueError:
            return False

    def listed(self, *speaking: str) -> bytes:
        """Those that run, and those of which the server has not heard the end yet."""
        busy = {*self._busy(), *speaking}
        there = (one for one in (*self._active(), *busy) if one not in self._deleted)
        self._named = dict.fromkeys(there)
        shown = [{**self._state(one), "processing": one in busy} for one in self._named]
        return envelope("conversation_list", conversations=shown)

    def make_known(self, session_id: str) -> None:
        """Before anything is said in it."""
        if session_id not in self._named:
            self._say(self.listed(session_id))

    def opened(self, session_id: str) -> None:
        """The server is told so, in words of its own."""
        _note(self._named, session_id)

    def is_deleted(self, session_id: str) -> bool:
        return session_id in self._deleted

    def delete(self, session_id: str) -> None:
        self._named.pop(session_id, None)
        _note(self._deleted, session_id)

    def want(self, session_id: str) -> None:
        """Somebody turns to it, though it may have been deleted before."""
        self._deleted.pop(session_id, None)

    def _state(self, session_id: str) -> Json:
        where = {"workDir": self._folder(session_id), "claudeSessionId": session_id}
        return {"id": self._names.foreign(session_id), **where}

    def _refresh(self, request: Request) -> None:
        session_id = self.session_of(request)
        if self.is_here(session_id):
            shown = {**self._state(session_id), "isProcessing": session_id in self._busy()}
        else:
            shown = {"error": "Conversation not found"}
        self._say(envelope("conversation_refresh", **back(request), **shown))

    def _ping(self, request: Request) -> None:
        session_id = self.session_of(request)
        status = "ok" if self.is_here(session_id) else "session-lost"
        shown = {"status": status, "isProcessing": session_id in self._busy()}
        self._say(envelope("pong_session", **back(request), **shown))


def _note(kept: dict[str, None], session_id: str) -> None:
    """Remembers the newest ones."""
    kept.pop(session_id, None)
    kept[session_id] = None
    while len(kept) > limits.WIRE_SESSIONS_KNOWN_MAX:
        del kept[next(iter(kept))]
