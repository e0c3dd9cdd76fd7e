"""Commands in the words of the Semibot wire. Pure."""

from msgspec import UNSET, UnsetType

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
            return wire.StartSession(
                data=wire.StartSessionData(
                    session_id=command.session_id,
                    runtime_type=command.runtime_type,
                    agent_config=command.agent_config,
                    skill_index=command.skill_index,
                    mcp_servers=command.mcp_servers,
                    sub_agents=command.sub_agents,
                    session_config=command.session_config,
                    openclaw_config=_or_unset(command.openclaw_config),
                    snapshot=_or_unset(command.snapshot),
                )
            )
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


def _or_unset(value: wire.Json | None) -> wire.Json | UnsetType:
    return UNSET if value is None else value
