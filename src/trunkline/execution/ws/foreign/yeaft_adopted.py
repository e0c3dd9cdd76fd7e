"""Conversations of other programs on this machine, on a Yeaft server: listed, and gone on with.

Which session goes on with which is noted in a file: a later start of the session needs it. Reading
them takes time, so `find` and `lists` are not for the event loop; `take_up` is.
"""

from pathlib import Path

import msgspec

from trunkline import limits
from trunkline.execution.files import load_json, save_json
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.foreign.answers import own_conversations
from trunkline.execution.runtimes.foreign.conversation import Conversation, Entry
from trunkline.execution.runtimes.foreign.library import Library
from trunkline.wire.yeaft import stream_json

ADOPTED_MAX = 10_000
PROGRAMS = (
    ("claude-code", "claude-code", ""),
    ("codex", "acp", "codex"),
    ("opencode", "acp", "opencode"),
)
"""A provider's name, its runtime and preset."""


class Adopted(msgspec.Struct, frozen=True, kw_only=True):
    runtime: str
    preset: str
    id: str
    folder: str


class Found(msgspec.Struct, frozen=True):
    adopted: Adopted | None
    said: list[Json]


class ForeignConversations:
    def __init__(self, home: Home, library: Library, path: Path) -> None:
        self._home = home
        self._library = library
        self._path = path
        self._adopted = load_json(path, dict[str, Adopted], "adopted conversations") or {}

    def listed(self, provider: str | None, folder: str | None) -> list[Json]:
        """Those that no session here goes on with, as `history_sessions_list` has them."""
        return [
            {
                "sessionId": one.id,
                "title": one.title,
                "workDir": one.folder,
                "provider": one.preset or one.runtime,
                "lastModified": one.updated_at,
            }
            for one in self._free(provider, folder)
        ]

    def folders(self, provider: str | None) -> list[Json]:
        found: dict[str, Json] = {}
        for one in self._free(provider, None):
            fresh = {"path": one.folder, "sessionCount": 0, "lastModified": one.updated_at}
            known = found.setdefault(one.folder, fresh)
            known["sessionCount"] += 1
        return list(found.values())

    def _free(self, provider: str | None, folder: str | None) -> list[Conversation]:
        of = next((one for one in PROGRAMS if one[0] == provider), None)
        if provider is not None and of is None:
            return []
        _, runtime, preset = of or ("", "", "")
        wanted = {"runtime": runtime, "preset": preset, "folder": folder or ""}
        page = self._library.page(**wanted, limit=limits.PAGE_MAX)
        ours = {*own_conversations(self._home), *(one.id for one in list(self._adopted.values()))}
        return [one for one in page.conversations if one.id not in ours]

    def find(self, session_id: str, named: str | None) -> Found | None:
        """What that session goes on with, or is to go on with from now on."""
        known = self._adopted.get(session_id)
        if known is None and named is None:
            return None
        for _, runtime, preset in PROGRAMS:
            if known is not None and (known.runtime, known.preset) != (runtime, preset):
                continue
            read = self._library.read(runtime, preset, known.id if known else str(named))
            if read is not None:
                one, entries = read
                adopted = Adopted(runtime=runtime, preset=preset, id=one.id, folder=one.folder)
                return Found(adopted, [_shown(entry) for entry in entries if entry.role != "tool"])
        return None

    def take_up(self, session_id: str, adopted: Adopted) -> None:
        if self._adopted.get(session_id) != adopted:
            self._adopted[session_id] = adopted
            while len(self._adopted) > ADOPTED_MAX:
                del self._adopted[next(iter(self._adopted))]
            save_json(self._path, self._adopted, "adopted conversations")

    def forget(self, session_id: str) -> None:
        if self._adopted.pop(session_id, None) is not None:
            save_json(self._path, self._adopted, "adopted conversations")

    def folder_of(self, session_id: str) -> str | None:
        known = self._adopted.get(session_id)
        return known.folder if known is not None else None

    def start_of(self, session_id: str, agent_config: Json) -> Json:
        """What `start_session` has besides the usual. The state is given once: the session's own
        is newer."""
        known = self._adopted.get(session_id)
        if known is None:
            return {}
        config = dict(agent_config)
        state: Json = {"session_id": known.id, "workspace": known.folder}
        if known.preset:
            config["acp"] = {"preset": known.preset}
            state["program"] = known.preset
        start: Json = {"runtime_type": known.runtime, "agent_config": config}
        start["session_config"] = {"workspace": known.folder}
        if not (self._home.session(session_id) / "runtime.json").exists():
            snapshot = {"runtime_type": known.runtime, "session_id": session_id}
            start["snapshot"] = {**snapshot, "runtime_state": state}
        return start


def _shown(entry: Entry) -> Json:
    return {**stream_json.said_by(entry.role, entry.text), "timestamp": entry.at}
