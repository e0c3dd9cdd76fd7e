"""Which models can see, and what those are told of pictures that cannot. Pure functions."""

import re
from collections.abc import Sequence

from trunkline.execution.llm.base import Images, Message, Picture, Quirks
from trunkline.execution.llm.errors import Refusal

NO_IMAGES = "no images"
"""The quirk of a model that refused a picture."""

_BLIND = re.compile(
    r"(?:^|/)(?:gpt-3\.5|gpt-4(?:-\d{4})?$|gpt-4-32k|o1-mini|o1-preview|o3-mini|gpt-oss|codex-mini"
    r"|claude-(?:1|2|instant)|deepseek-(?:chat|reasoner|coder|r1|v[23])|codellama|starcoder"
    r"|llama-?[23](?:\.[13])?(?:[:@-]|$)(?!.*vision)|mixtral|mistral-(?:7b|nemo|tiny)|codestral"
    r"|qwen[23]?(?:\.5)?(?:-coder)?(?:[:@-]|$)(?!.*vl)|phi-?[23](?:[:@-]|$)(?!.*vision)"
    r"|smollm|tinyllama)",
    re.IGNORECASE,
)
"""Those of which it is known. Any other is shown the pictures, and may refuse them."""
_REFUSED = re.compile(r"image|vision|multi-?modal|mmproj|media_type", re.IGNORECASE)
_STATUSES = (400, 404, 415, 422, 500, 501)

_CANNOT_SEE = "this model cannot see pictures"
_GONE = "it is not on this machine any more"
_OLDER = "only the newest pictures are shown"


def can_see(model: str, quirks: Quirks) -> bool:
    return NO_IMAGES not in quirks and _BLIND.search(model) is None


def quirk_of(told: Refusal, is_shown: bool, quirks: Quirks) -> str | None:
    """What to do without, if a refusal is about the pictures of the request."""
    about = is_shown and NO_IMAGES not in quirks and told.status in _STATUSES
    return NO_IMAGES if about and _REFUSED.search(told.words) else None


def seen(messages: Sequence[Message], images: Images, *, sees: bool) -> list[Message]:
    """The conversation, in which what cannot be shown of its pictures is told in words."""
    return [_seen(one, images, sees=sees) if one.get("pictures") else one for one in messages]


def _seen(message: Message, images: Images, *, sees: bool) -> Message:
    shown: list[Picture] = []
    words: list[str] = []
    for picture in message.get("pictures", ()):
        if sees and images.get(picture["path"]):
            shown.append(picture)
            continue
        why = _CANNOT_SEE if not sees else _GONE if picture["path"] in images else _OLDER
        words.append(f"[picture {named(picture)}: {why}]")
    told = message.copy()
    told["pictures"] = shown
    told["content"] = "\n".join(part for part in (message["content"], *words) if part)
    return told


def named(picture: Picture) -> str:
    name = picture.get("name", "")
    return f"{name} ({picture['media_type']})" if name else f"({picture['media_type']})"
