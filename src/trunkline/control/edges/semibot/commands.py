"""Commands in the words of the Semibot wire. Pure."""

import msgspec
from msgspec import UNSET

from trunkline.wire.commands import (
    Answer,
    Cancel,
    Command,
    Configure,
    Forward,
    Say,
    Start,
    Stop,
)
from trunkline.wire.semibot import messages as wire


def to_wire(command: Command, *, named_turns: bool) -> wire.Downlink | None:
    """`named_turns`: the machine speaks our additions and gets the turn's id. None for what this
    wire has no words for."""
    match command:
        case Start():
            fields = msgspec.structs.asdict(command)
            known = {name: value for name, value in fields.items() if value is not None}
            return wire.StartSession(data=wire.StartSessionData(**known))
        case Say():
            return wire.UserMessage(
                session_id=command.session_id,
                data=wire.UserMessageData(
                    message=command.message,
                    history=command.history,
                    metadata=command.metadata,
                    turn_id=command.turn_id if named_turns else UNSET,
                ),
            )
        case Cancel():
            return wire.Cancel(session_id=command.session_id, reason=command.reason)
        case Configure():
            return wire.ConfigUpdate(session_id=command.session_id, data=command.patch)
        case Answer():
            data = {
                "request_id": command.request_id,
                "confirmed": command.confirmed,
                "answer": command.answer,
            }
            return wire.ApprovalResponse(session_id=command.session_id, data=data)
        case Stop():
            return wire.StopSession(
                data=wire.StopSessionData(session_id=command.session_id, reason=command.reason)
            )
        case Forward():
            return None
