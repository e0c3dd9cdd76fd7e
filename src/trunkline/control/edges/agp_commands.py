"""Commands in the words of AGP. Pure: what a device is sent, and to which of its apps."""

from collections.abc import Mapping
from typing import Any

from trunkline import limits
from trunkline.control.commands import Say
from trunkline.control.machine_secrets import Known
from trunkline.wire.agp.codec import msg_id_of
from trunkline.wire.agp.messages import Cancel, CancelPayload, Prompt, PromptPayload, blocks

DEFAULT_APP = "openclaw"
_OPENCLAW = "openclaw"


def prompt_of(say: Say, known: Known, agent_app: str) -> Prompt:
    """A user's message; sent again it has the same id."""
    return Prompt(
        msg_id=msg_id_of("prompt", say.turn_id),
        guid=known.guid,
        user_id=known.user_id,
        payload=PromptPayload(
            session_id=say.session_id,
            prompt_id=say.turn_id,
            agent_app=agent_app,
            content=blocks(say.message, *_notes(say.metadata.get("attachments"))),
        ),
    )


def cancel_of(say: Say, known: Known, agent_app: str) -> Cancel:
    return Cancel(
        msg_id=msg_id_of("cancel", say.turn_id),
        guid=known.guid,
        user_id=known.user_id,
        payload=CancelPayload(say.session_id, say.turn_id, agent_app),
    )


def _notes(attachments: Any) -> list[str]:
    """AGP carries text only: the app is told what it does not get."""
    if not isinstance(attachments, list):
        return []
    notes = []
    for one in attachments[: limits.ATTACHMENTS_MAX]:
        if isinstance(one, dict):
            name, mime = (str(one.get(field) or "")[:200] for field in ("name", "mime"))
            kind = f", {mime}" if mime else ""
            notes.append(f"[attachment {name!r}{kind}: not sent, this device takes text only]")
    return notes


def agent_app_of(
    agent_config: Mapping[str, Any], runtime_type: str, *, is_openclaw: bool
) -> str | None:
    """The app that a session's agent asks for; None: whichever the device has."""
    named = checked_app(agent_config.get("agent_app"))
    if named is not None:
        return named
    return _OPENCLAW if is_openclaw or runtime_type == _OPENCLAW else None


def checked_app(name: Any) -> str | None:
    """A name that can be one of an app's; clients write what they like into a configuration."""
    if not isinstance(name, str) or not 0 < len(name) <= limits.AGENT_APP_CHARS_MAX:
        return None
    return name if name.isprintable() else None
