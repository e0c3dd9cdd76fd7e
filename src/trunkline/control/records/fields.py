"""The types of record fields, each with its bound. Every record module builds on these.

A value that does not fit is refused where it is decoded, with the path of the field.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta

from trunkline import limits

Role = Literal["member", "org_admin", "admin"]
RuntimeType = Literal["semigraph", "openclaw", "claude-code", "acp"]
Confirm = Literal["never", "dangerous", "always"]

# At least one character that can be seen: a name of blanks is none.
Name = Annotated[str, Meta(min_length=1, max_length=limits.NAME_CHARS_MAX, pattern=r"\S")]
Label = Annotated[str, Meta(max_length=limits.NAME_CHARS_MAX)]
Text = Annotated[str, Meta(max_length=limits.TEXT_CHARS_MAX)]
Id = Annotated[str, Meta(min_length=1, max_length=limits.ID_CHARS_MAX)]
Names = Annotated[list[Name], Meta(max_length=limits.NAMES_MAX)]
Temperature = Annotated[float, Meta(ge=0, le=2)]
MaxTokens = Annotated[int, Meta(ge=1, le=limits.MODEL_TOKENS_MAX)]
LifeSeconds = Annotated[int, Meta(ge=1, le=limits.TOKEN_LIFE_S_MAX)]
ApiKey = Annotated[str, Meta(min_length=1, max_length=limits.API_KEY_CHARS_MAX, pattern=r"^\S+$")]
BaseUrl = Annotated[
    str, Meta(max_length=limits.URL_CHARS_MAX, pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$")
]
AgentApp = Annotated[str, Meta(min_length=1, max_length=limits.AGENT_APP_CHARS_MAX)]
Json = dict[str, Any]

_RANKS: dict[str, int] = {"member": 0, "org_admin": 1, "admin": 2}


def rank(role: str) -> int:
    """How much a role may do; a role that is not known may do nothing."""
    return _RANKS.get(role, -1)
