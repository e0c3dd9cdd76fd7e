"""The server's side of an agent's line, as far as it is pure: the handshake, and what a message to
an agent looks like in its dialect. Bounds come in as arguments.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from trunkline.wire.errors import CloseLine, Malformed
from trunkline.wire.yeaft import codec
from trunkline.wire.yeaft.close_codes import CloseCode
from trunkline.wire.yeaft.inward_state import DEPLOYED
from trunkline.wire.yeaft.messages import (
    Auth,
    AuthRequired,
    Execute,
    SendMessage,
    SlashCommandsUpdate,
    TransferFiles,
)

Json = dict[str, Any]


class Visitor(msgspec.Struct, frozen=True):
    """What an agent's URL says of it: free text, and nothing of it is proven."""

    instance: str
    """What it calls itself, by which its owner's agents are told apart; empty: nothing usable."""
    name: str
    work_dir: str
    platform: str


def visitor_of(query: Mapping[str, str], *, chars_max: int, path_chars_max: int) -> Visitor:
    instance = query.get("instanceId") or query.get("id") or ""
    name = query.get("name", "")[:chars_max]
    work_dir = query.get("workDir", "")
    return Visitor(
        instance if len(instance) <= chars_max and instance.isprintable() else "",
        name if name.isprintable() else "",
        work_dir if len(work_dir) <= path_chars_max else "",
        query.get("platform", "")[:chars_max],
    )


class Handshake:
    """`auth_required` → `auth`: one challenge, one answer."""

    __slots__ = ("_temp_id", "auth")

    def __init__(self, temp_id: str) -> None:
        self._temp_id = temp_id
        self.auth: Auth | None = None

    def challenge(self) -> bytes:
        return codec.encode(AuthRequired(temp_id=self._temp_id))

    def take(self, text: str) -> Auth:
        """The agent's first message. Anything but the answer to the challenge ends the line."""
        try:
            if codec.decode(text).type != "auth":
                raise CloseLine(CloseCode.REFUSED, "the first message must be auth")
            auth = codec.read(text, Auth)
        except Malformed as error:
            raise CloseLine(CloseCode.REFUSED, "the first message must be auth") from error
        if auth.temp_id != self._temp_id:
            raise CloseLine(CloseCode.REFUSED, "not the answer to this challenge")
        self.auth = auth
        return auth


def capabilities_of(given: Any, *, count_max: int, chars_max: int) -> frozenset[str]:
    """What an agent says that it can do; a list, or the same as text with commas."""
    if isinstance(given, str):
        given = given.split(",")
    if not isinstance(given, list):
        return frozenset()
    named = [one.strip() for one in given[:count_max] if isinstance(one, str)]
    return frozenset(one for one in named if 0 < len(one) <= chars_max)


class SlashCommands(msgspec.Struct, frozen=True):
    """What can be typed behind a slash on an agent, and what each is for."""

    names: list[str]
    descriptions: dict[str, str]


def slash_commands_of(
    message: SlashCommandsUpdate, *, count_max: int, chars_max: int
) -> SlashCommands:
    """Names and descriptions that are too long, and what else is odd, are left out."""
    given = message.slash_commands if isinstance(message.slash_commands, list) else []
    names = [one for one in given if isinstance(one, str) and 0 < len(one) <= chars_max]
    names = names[:count_max]
    about = message.slash_command_descriptions
    about = about if isinstance(about, dict) else {}
    described = {name: about[name] for name in names if isinstance(about.get(name), str)}
    return SlashCommands(names, {name: text[:chars_max] for name, text in described.items()})


class Talk(msgspec.Struct, kw_only=True):
    """What an agent is told with every message of a conversation."""

    conversation_id: str
    dialect: str = ""
    remote_id: str = ""
    work_dir: str = ""
    provider: str = ""


def message_of(talk: Talk, text: str, attachments: Any, more: Json) -> bytes:
    """A user's message. `more`: what a client said besides, in a protocol that it shares with the
    agent. What the message itself says wins, but for the folder, which a client may choose."""
    chosen = {name: more[name] for name in ("workDir",) if isinstance(more.get(name), str)}
    message: msgspec.Struct
    if talk.dialect == DEPLOYED:
        message = _executed(talk, text, _files(attachments))
    else:
        given = attachments if isinstance(attachments, list) and attachments else UNSET
        message = SendMessage(conversation_id=talk.conversation_id, text=text, attachments=given)
    return codec.encode({**more, **msgspec.to_builtins(message), **chosen})


def _executed(talk: Talk, prompt: str, files: list[Json]) -> Execute | TransferFiles:
    """With files, `transfer_files` takes the place of `execute`: it carries the prompt too."""
    fields: Json = {
        "conversation_id": talk.conversation_id,
        "prompt": prompt,
        "work_dir": talk.work_dir or UNSET,
        "claude_session_id": talk.remote_id or UNSET,
        "provider": talk.provider or UNSET,
    }
    return TransferFiles(files=files, **fields) if files else Execute(**fields)


def _files(attachments: Any) -> list[Json]:
    if not isinstance(attachments, list):
        return []
    return [
        {
            **{name: value for name, value in one.items() if name not in ("mime", "base64")},
            "name": str(one.get("name", "")),
            "mimeType": str(one.get("mime", "")),
            "data": str(one.get("base64", "")),
        }
        for one in attachments
        if isinstance(one, dict)
    ]
