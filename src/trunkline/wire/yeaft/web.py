"""What Yeaft web clients send, and the names that only their side of the wire has
(docs/protocols/yeaft.md#messages-from-web-clients).

A client's message is read once, field by field; fields that the control plane does not know stay
with it. Pure: the edge says what a message means, this says what is in it.
"""

import re
from typing import Any, Final

from trunkline.wire.errors import Malformed
from trunkline.wire.yeaft import codec, names
from trunkline.wire.yeaft.fields import CORRELATION

DEPLOYED_FIRST: Final = frozenset(
    (
        "chat",
        "execute",
        "get_agents",
        "select_agent",
        "select_conversation",
        "get_conversations",
        "refresh_conversation",
        "sync_messages",
        "pin_session",
        "unpin_session",
        "set_session_ui_metadata",
        "reorder_session_catalog",
        "restore_file_tabs",
        "update_file_tabs",
    )
)
"""A client that says one of these speaks the deployed dialect, and is answered in it."""


def role_of(role: str) -> str:
    """A role as deployed pages know it. They show the workbench to these two alone."""
    return "admin" if role == "admin" else "pro"


_WORKBENCH_OF: Final = ("terminal_", "git_", "proxy_")
_WORKBENCH: Final = frozenset(
    (
        "read_file",
        "write_file",
        "create_file",
        "delete_files",
        "move_files",
        "copy_files",
        "upload_to_dir",
        "list_directory",
        "file_search",
        "resolve_file_references",
    )
)
"""What a page does on an agent's host besides talking: a shell, its files, its ports."""

_EVENTS_MAX = 2**53
_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})?")
_MADE_UP = re.compile(r"(\d{13})(?=\w*[a-z])[a-z0-9]{4,30}")
_ROUTING = frozenset(("type", "agentId", "conversationId", *CORRELATION))
PASSED_ON: Final = frozenset(("yeaft_vp_subscribe", "yeaft_load_history"))
"""What pages are known to say to the group chats that agents run themselves."""
ATTACHMENT: Final = ("name", "mime", "base64")
_ATTACHMENT_NAMES = (("mime", "mimeType"), ("base64", "data"))

Json = dict[str, Any]


class Request:
    """One message of a web client."""

    def __init__(self, text: str) -> None:
        self.text = text
        """As it came: what is passed on is passed on unread."""
        self.fields: Json = codec.fields(text)
        kind = self.fields.get("type")
        if not isinstance(kind, str):
            raise Malformed("a message needs a type")
        self.name = kind
        self.type = names.canonical(kind)

    @property
    def is_workbench(self) -> bool:
        return self.name.startswith(_WORKBENCH_OF) or self.name in _WORKBENCH

    @property
    def is_known(self) -> bool:
        """Whether there is such a message, as far as is known here."""
        return self.type in names.RELEASED or self.type in PASSED_ON or self.is_workbench

    def get(self, *names: str) -> str | None:
        """A text under one of its names; None where there is none, or null."""
        for name in names:
            value = self.fields.get(name)
            if value is None or value == "":
                continue
            if not isinstance(value, str):
                raise Malformed(f"{name} must be a text")
            if "\x00" in value:
                raise Malformed(f"{name} must not hold NUL")
            return value
        return None

    def need(self, *names: str) -> str:
        value = self.get(*names)
        if value is None:
            raise Malformed(f"{self.name} needs {names[0]}")
        return value

    def count(self, name: str, default: int, most: int) -> int:
        """A number of things, cut to what there may be."""
        value = self.fields.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise Malformed(f"{name} must be a number, 0 or more")
        return min(value, most)

    def position(self, name: str) -> int | None:
        """An event's id, as a number or as text; None where there is none."""
        found = self._id(name)
        return None if found is None else int(found)  # a further row of an event has a fraction

    def _id(self, name: str) -> float | None:
        value = self.fields.get(name)
        if value is None:
            return None
        if isinstance(value, str) and _NUMBER.fullmatch(value):
            value = float(value) if "." in value else int(value)
        if isinstance(value, float) and 0 <= value < _EVENTS_MAX:
            return value
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise Malformed(f"{name} must be an event's id")
        return value

    def row(self, name: str) -> float | None:
        """The id of a row that a client keeps: its event's, with a fraction if it is not the first.
        Deployed clients make up ids for what they saw live: those are no place in the log."""
        value = self.fields.get(name)
        if isinstance(value, str) and not _NUMBER.fullmatch(value):
            return None
        return self._id(name)

    def seen_ms(self, name: str) -> int | None:
        """When a client saw what it has made up an id for (Unix ms, by its own clock): pages of the
        first releases begin it with that."""
        value = self.fields.get(name)
        found = _MADE_UP.fullmatch(value) if isinstance(value, str) else None
        return None if found is None else int(found[1])

    def texts(self, name: str, most: int) -> list[str] | None:
        value = self.fields.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise Malformed(f"{name} must be a list of texts")
        if len(value) > most:
            raise Malformed(f"{name} may hold {most} texts")
        return value

    def attachments(self, most: int, chars_max: int) -> list[Json]:
        """`{name, mime, base64}`; deployed software also writes `mimeType` and `data`. What
        else a client says of one stays with it."""
        value = self.fields.get("attachments")
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise Malformed("attachments must be a list of objects")
        if len(value) > most:
            raise Malformed(f"a message may have {most} attachments")
        found = [_attachment(one) for one in value]
        if sum(len(one["base64"]) for one in found) > chars_max:
            raise Malformed(f"the attachments of a message may have {chars_max} bytes in base64")
        return found

    def attach(self, files: list[Json]) -> None:
        """Files that came ahead of the message: they count as attached to it."""
        given = self.fields.get("attachments") or []
        if not isinstance(given, list):
            raise Malformed("attachments must be a list of objects")
        self.fields["attachments"] = [*given, *files]

    def rewrite(self, *, without: str) -> None:
        """Its text is what its fields are now, but for that one: what is passed on has changed."""
        self.fields.pop(without, None)
        self.text = codec.encode(self.fields).decode()

    def rest(self, *known: str) -> Json:
        """The fields that the control plane has no name for."""
        return {
            name: value
            for name, value in self.fields.items()
            if name not in _ROUTING and name not in known
        }

    @property
    def correlation(self) -> Json:
        """Goes back with every answer, as it came."""
        return {name: self.fields[name] for name in CORRELATION if name in self.fields}


def _attachment(given: Json) -> Json:
    found = {"name": "", **given}
    for name, other in _ATTACHMENT_NAMES:
        also = found.pop(other, "")
        found.setdefault(name, also)
    if not all(isinstance(found[name], str) for name in ATTACHMENT):
        raise Malformed("an attachment is {name, mime, base64}, all of them texts")
    if not found["base64"]:
        raise Malformed("an attachment needs its content in base64")
    return found
