"""What a person's message becomes: a turn, a word to the one that runs, or what is run instead."""

from typing import Any

from trunkline import names
from trunkline.control.access.auth import Principal
from trunkline.control.machines.core import MachineCore
from trunkline.control.sessions import attached
from trunkline.control.sessions.records import NewMessage, Session
from trunkline.wire.commands import Say, size_of

Json = dict[str, Any]

REPLACED = "replaced"
"""Why a turn was stopped for which another message was sent."""


def said(
    core: MachineCore, session: Session, say: Say, who: Principal, new: NewMessage
) -> tuple[str, bool]:
    """The turn that the message opens or steers, and whether others were stopped for it. What
    cannot be steered opens a turn, which waits. What there is no room for is refused."""
    name, names_known = new.client_message_id, core.state.sessions[session.id].session.names
    if name is not None and name in names_known:
        return names_known[name], False  # said twice in the same moment
    core.check_room(size_of(say))
    shown = {"content": new.message, "user_id": who.user_id, **shown_of(new)}
    is_steering = new.when_busy == "steer" and session.runtime_type in names.STEERED_RUNTIMES
    steered = core.steer(say, shown) if is_steering else None
    if steered is not None:
        return steered, False
    is_replacing = new.when_busy == "replace" and core.is_working(session.id)
    if is_replacing:
        core.cancel(session.id, REPLACED)
    core.say(say, shown)
    return say.turn_id, is_replacing


def shown_of(new: NewMessage) -> Json:
    """What readers see of a message besides its text."""
    shown: Json = {}
    if new.client_message_id is not None:
        shown["client_message_id"] = new.client_message_id
    files = attached.told_of(new.metadata or {})
    if files is not None:
        shown[attached.NAME] = files
    return shown
