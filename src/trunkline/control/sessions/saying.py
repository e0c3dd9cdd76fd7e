"""What a person's message becomes: a turn, a word to the one that runs, or what is run instead."""

from trunkline import names
from trunkline.control.access.auth import Principal
from trunkline.control.machines.core import MachineCore
from trunkline.control.sessions.records import NewMessage, Session
from trunkline.wire.commands import Say

REPLACED = "replaced"
"""Why a turn was stopped for which another message was sent."""


def said(
    core: MachineCore, session: Session, say: Say, who: Principal, new: NewMessage
) -> tuple[str, bool]:
    """The turn that the message opens or steers, and whether others were stopped for it. What
    cannot be steered opens a turn, which waits."""
    shown = {"content": new.message, "user_id": who.user_id, **new.shown}
    is_steering = new.when_busy == "steer" and session.runtime_type in names.STEERED_RUNTIMES
    steered = core.steer(say, shown) if is_steering else None
    if steered is not None:
        return steered, False
    is_replacing = new.when_busy == "replace" and core.is_working(session.id)
    if is_replacing:
        core.cancel(session.id, REPLACED)
    core.say(say, shown)
    return say.turn_id, is_replacing
