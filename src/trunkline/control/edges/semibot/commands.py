"""Commands in the words of the Semibot wire. Pure."""

import msgspec
from msgspec import UNSET

from trunkline.wire.commands import (
    Answer,
    Cancel,
    Command,
    Configure,
    Forward,
    Query,
    Say,
    Start,
    Steer,
    Stop,
)
from trunkline.wire.semibot import deployed
from trunkline.wire.semibot import messages as wire


def to_wire(
    command: Command, *, named_turns: bool, dialect: str | None, rules: bool = False
) -> wire.Downlink | None:
    """`named_turns`: the machine speaks our additions and gets the turn's id. `dialect`: what is
    known of how it speaks the wire. `rules`: it holds to a session's rules, and is told them. None
    for what this wire has no words for."""
    is_deployed = dialect == deployed.DEPLOYED
    match command:
        case Start():
            return _start(command, dialect, rules=rules)
        case Say():
            earlier, message = command.history, command.message
            return wire.UserMessage(
                session_id=command.session_id,
                data=wire.UserMessageData(
                    message=message,
                    history=deployed.history(earlier, message) if is_deployed else earlier,
                    metadata=command.metadata,
                    turn_id=command.turn_id if named_turns else UNSET,
                ),
            )
        case Steer():
            return wire.Steer(
                session_id=command.session_id,
                data=wire.SteerData(
                    message_id=command.message_id,
                    steers=command.turn_id,
                    message=command.message,
                    metadata=command.metadata,
                ),
            )
        case Cancel():
            return wire.Cancel(session_id=command.session_id, reason=command.reason)
        case Configure():
            session_id, data = command.session_id, command.patch
            if is_deployed:
                data = deployed.config_update(session_id, data, command.agent_config)
            return wire.ConfigUpdate(session_id=session_id, data=data)
        case Answer():
            data = {
                "request_id": command.request_id,
                "confirmed": command.confirmed,
                "answer": command.answer,
            }
            # Additions of ours: left out where they say nothing that a daemon would not assume.
            if command.scope != "once":
                data["scope"] = command.scope
            if command.reason:
                data["reason"] = command.reason
            return wire.ApprovalResponse(session_id=command.session_id, data=data)
        case Stop():
            return wire.StopSession(
                data=wire.StopSessionData(session_id=command.session_id, reason=command.reason)
            )
        case Query():
            asked = wire.QueryData(method=command.method, params=command.params)
            return wire.Query(id=command.id, data=asked)
        case Forward():
            return None


def _start(command: Start, dialect: str | None, *, rules: bool) -> wire.StartSession:
    """Of which kind a machine is may be known only when its first session runs: what the deployed
    kind looks for is kept only from one that follows the document for sure."""
    fields = msgspec.structs.asdict(command)
    known = {name: value for name, value in fields.items() if value is not None}
    if not rules or not command.rules:
        del known["rules"]
    if dialect == deployed.DEPLOYED:
        known.pop("snapshot", None)  # it never reads it, and mostly cannot
    if dialect == deployed.DOCUMENTED:
        known["mcp_servers"] = [_documented(one) for one in command.mcp_servers]
    else:
        known["agent_id"] = deployed.agent_id(command.agent_config, command.session_id)
        known["mcp_servers"] = [deployed.mcp_entry(one) for one in command.mcp_servers]
    return wire.StartSession(data=wire.StartSessionData(**known))


def _documented(server: wire.Json) -> wire.Json:
    return {name: value for name, value in server.items() if name != "id"}
