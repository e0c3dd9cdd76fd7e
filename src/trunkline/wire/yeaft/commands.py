"""Commands in the words of the Yeaft wire, where they need more than their own fields. Pure."""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from trunkline.wire.commands import DEFAULT_RUNTIME, Say, Start
from trunkline.wire.yeaft.agent import Talk, message_of
from trunkline.wire.yeaft.codec import encode
from trunkline.wire.yeaft.messages import CreateConversation, ResumeConversation
from trunkline.wire.yeaft.providers import DEFAULT_PROVIDER

Json = dict[str, Any]

_OURS = {"resume", *(one.encode_name for one in msgspec.structs.fields(ResumeConversation))}
"""Names that a client's own fields do not have in an agent's opening."""


def create(start: Start, *, user_id: str, username: str, work_dir: str) -> CreateConversation:
    """The fields of both dialects: which one the agent speaks is told by its answer.

    `work_dir`: where the agent says that it works, if the session names no folder.
    """
    options = _object(start, "options") or _options(start.agent_config)
    return CreateConversation(
        conversation_id=start.session_id,
        provider=_text(start, "provider") or _provider(start.runtime_type),
        work_dir=_text(start, "work_dir", "workDir") or work_dir or UNSET,
        options=options or UNSET,
        user_id=user_id,
        username=username or UNSET,
        provider_options=_object(start, "provider_options", "providerOptions") or options or UNSET,
        disallowed_tools=_names(start, "disallowed_tools", "disallowedTools"),
    )


def resume(created: CreateConversation, talk: Talk) -> ResumeConversation:
    """What the conversation was created with goes with it: an agent that takes it up may know
    nothing of it."""
    opening = msgspec.structs.asdict(created)
    del opening["type"]
    opening["provider"] = talk.provider or created.provider
    own = talk.remote_id or UNSET
    return ResumeConversation(**opening, session_id=own, claude_session_id=own)


def opening(start: Start, message: CreateConversation | ResumeConversation) -> bytes:
    """With what a client said besides when it created the session: the agent may know more of its
    words than we do."""
    more = {name: value for name, value in _own(start).items() if name not in _OURS}
    return encode({**more, **msgspec.to_builtins(message)})


def resumed(start: Start) -> str:
    """The agent's own session that a client chose from its history to go on with, if it did."""
    chosen = _own(start).get("resume")
    found = chosen.get("sessionId") if isinstance(chosen, dict) else None
    return found if isinstance(found, str) else ""


def say(talk: Talk, command: Say) -> bytes:
    """A client's message with all that it said, where it speaks the agent's protocol."""
    metadata = command.metadata
    more = metadata.get("yeaft")
    more = dict(more) if isinstance(more, dict) else {}
    if "mentions" in metadata:
        more.setdefault("mentions", metadata["mentions"])
    return message_of(talk, command.message, metadata.get("attachments"), more)


def _own(start: Start) -> Json:
    own = start.session_config.get("yeaft")
    return own if isinstance(own, dict) else {}


def _provider(runtime_type: str) -> str:
    """A runtime that somebody chose is one of the agent's; our own default is none of its."""
    return DEFAULT_PROVIDER if runtime_type == DEFAULT_RUNTIME else runtime_type


def _options(agent_config: Json) -> Json:
    """What an agent of ours is, as far as a provider can take it."""
    named = (("model", "model"), ("system_prompt", "systemPrompt"), ("max_tokens", "maxTokens"))
    return {to: agent_config[name] for name, to in named if agent_config.get(name) is not None}


def _chosen(start: Start, *names: str) -> Any:
    """What the session's creator chose, else what its agent has, under any of these names."""
    for config in (start.session_config, start.agent_config):
        for name in names:
            if config.get(name) is not None:
                return config[name]
    return None


def _text(start: Start, *names: str) -> str:
    found = _chosen(start, *names)
    return found if isinstance(found, str) else ""


def _object(start: Start, *names: str) -> Json | None:
    found = _chosen(start, *names)
    return found if isinstance(found, dict) else None


def _names(start: Start, *names: str) -> list[str] | UnsetType:
    found = _chosen(start, *names)
    if not isinstance(found, list):
        return UNSET
    return [one for one in found if isinstance(one, str)]
