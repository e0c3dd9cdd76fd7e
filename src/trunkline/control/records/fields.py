"""The types of record fields, each with its bound, and checks of what machines say.

A request's value that does not fit its type is refused where it is decoded, with the path of the
field. Services check what comes to them in other ways before they write it.
"""

from typing import Annotated, Any, Literal, TypedDict

import msgspec
from msgspec import Meta

from trunkline import limits
from trunkline.control.checked_json import check_text
from trunkline.control.errors import InvalidRequest, NotFound, TooLarge
from trunkline.control.ids import is_id

Role = Literal["member", "org_admin", "admin"]
RuntimeType = Literal["semigraph", "openclaw", "claude-code", "acp"]
Confirm = Literal["never", "dangerous", "always"]
PermissionMode = Literal["plan", "ask", "accept_edits", "free", "default", "acceptEdits"]
"""Ours, and what Claude Code calls two of them."""
Network = Literal["open", "off", "list"]

# At least one character that can be seen: a name of blanks is none.
Name = Annotated[str, Meta(min_length=1, max_length=limits.NAME_CHARS_MAX, pattern=r"\S")]
Label = Annotated[str, Meta(max_length=limits.NAME_CHARS_MAX)]
Text = Annotated[str, Meta(max_length=limits.TEXT_CHARS_MAX)]
Id = Annotated[str, Meta(min_length=1, max_length=limits.ID_CHARS_MAX)]
Names = Annotated[list[Name], Meta(max_length=limits.NAMES_MAX)]
Temperature = Annotated[float, Meta(ge=0, le=2)]
MaxTokens = Annotated[int, Meta(ge=1, le=limits.MODEL_TOKENS_MAX)]
LifeSeconds = Annotated[int, Meta(ge=1, le=10 * 365 * 24 * 3600)]
ApiKey = Annotated[str, Meta(min_length=1, max_length=limits.API_KEY_CHARS_MAX, pattern=r"^\S+$")]
BaseUrl = Annotated[
    str, Meta(max_length=limits.URL_CHARS_MAX, pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$")
]
ModelName = Annotated[str, Meta(min_length=1, max_length=limits.NAME_CHARS_MAX, pattern=r"^\S+$")]
AgentApp = Annotated[str, Meta(min_length=1, max_length=limits.AGENT_APP_CHARS_MAX)]
Json = dict[str, Any]

Workspace = Annotated[
    str, Meta(min_length=1, max_length=limits.FILE_PATH_CHARS_MAX, pattern=r"^[^\x00]*$")
]
_Host = Annotated[str, Meta(max_length=255, pattern=r"^(\*\.)?[A-Za-z0-9._:-]{1,253}$")]
Hosts = Annotated[list[_Host], Meta(max_length=limits.NETWORK_HOSTS_MAX)]
Preset = Literal["copilot", "opencode", "gemini", "codex", "goose"]
_Word = Annotated[str, Meta(max_length=limits.FILE_PATH_CHARS_MAX, pattern=r"^[^\x00]*$")]
_Variable = Annotated[
    str, Meta(min_length=1, max_length=limits.NAME_CHARS_MAX, pattern=r"^[^=\x00]+$")
]


class Acp(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The program of the runtime `acp`: a `preset`, or a `command` with its arguments. `env`: what
    it finds in its environment besides; no place for secrets, they are stored as they are."""

    preset: Preset | None = None
    command: Annotated[list[_Word], Meta(min_length=1, max_length=limits.ACP_WORDS_MAX)] | None = (
        None
    )
    env: Annotated[dict[_Variable, _Word], Meta(max_length=limits.ACP_VARIABLES_MAX)] = {}

    def __post_init__(self) -> None:
        if (self.preset is None) == (self.command is None):
            raise ValueError("either preset or command")
        if self.command is not None and not self.command[0].strip():
            raise ValueError("the command is empty")


class AcpProgram(TypedDict, total=False):
    """The same as it is stored and shown."""

    preset: Preset | None
    command: list[str] | None
    env: dict[str, str]


_RANKS: dict[str, int] = {"member": 0, "org_admin": 1, "admin": 2}


def rank(role: str) -> int:
    """How much a role may do; a role that is not known may do nothing."""
    return _RANKS.get(role, -1)


def checked_text(value: str, field: str, chars_max: int, *, empty: bool = False) -> str:
    """The text, if it is short enough and every database can hold it."""
    if not value.strip() and not empty:
        raise InvalidRequest(f"{field} must not be empty")
    if len(value) > chars_max:
        raise TooLarge(f"{field} has {len(value)} characters; at most {chars_max} are allowed")
    check_text(value, field)
    return value


def checked_object(value: Json, field: str, bytes_max: int) -> Json:
    """The object, if it is plain JSON within its bound."""
    try:
        size = len(msgspec.json.encode(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"{field} is not plain JSON: {error}") from error
    if size > bytes_max:
        raise TooLarge(f"{field} has {size} bytes; at most {bytes_max} are allowed")
    return value


def checked_id(kind: str, value: str) -> str:
    """A record id; what does not even look like one is not found, and asked of no database."""
    if not is_id(value):
        raise NotFound(kind, value)
    return value
