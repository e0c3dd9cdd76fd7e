"""Every message of the Yeaft wire that is read or written here (docs/protocols/yeaft.md):
the agent's handshake, messages from clients and on to agents, messages from agents.

Names are the wire's own in camelCase. What a peer leaves out has a default, what we do not know
is ignored; `type` is a plain field, because one message may come under several names.
"""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

Json = dict[str, Any]


class Message(msgspec.Struct, rename="camel"):
    """Fields that are UNSET do not travel."""


class Envelope(msgspec.Struct, rename="camel", gc=False):
    """As much of any message as a relay needs (docs/protocols/yeaft.md#envelope)."""

    type: str
    conversation_id: Any = None
    session_id: Any = None
    data: msgspec.Raw = msgspec.Raw()


class AuthRequired(Message, kw_only=True):
    type: str = "auth_required"
    temp_id: str


class Auth(Message, kw_only=True):
    """What an agent answers. The lists are its own; nothing depends on them."""

    type: str = "auth"
    temp_id: str
    secret: str
    capabilities: Any = None
    version: Any = None
    platform: Any = None


class Registered(Message, kw_only=True):
    """No key, plain text: TLS is the transport's business."""

    type: str = "registered"
    agent_id: str
    session_key: str | None = None
    accept_plaintext: bool = True


class ErrorMessage(Message, kw_only=True):
    """To either side: something that it sent was not taken."""

    type: str = "error"
    message: str
    code: str | UnsetType = UNSET
    conversation_id: str | UnsetType = UNSET
    request_id: Any = UNSET


class Opening(Message, kw_only=True):
    """What a conversation is opened with. The fields of both dialects: an agent takes those that it
    knows."""

    type: str
    conversation_id: str
    provider: str | UnsetType = UNSET
    work_dir: str | UnsetType = UNSET
    options: Json | UnsetType = UNSET
    user_id: str
    username: str | UnsetType = UNSET
    provider_options: Json | UnsetType = UNSET
    disallowed_tools: list[str] | UnsetType = UNSET


class CreateConversation(Opening, kw_only=True):
    type: str = "create_conversation"


class ResumeConversation(Opening, kw_only=True):
    """`claudeSessionId` is what deployed agents call the session's id."""

    type: str = "resume_conversation"
    session_id: str | UnsetType = UNSET
    claude_session_id: str | UnsetType = UNSET


class DeleteConversation(Message, kw_only=True):
    type: str = "delete_conversation"
    conversation_id: str


class SendMessage(Message, kw_only=True):
    """`attachments`: `{name, mime, base64}` each."""

    type: str = "send_message"
    conversation_id: str
    text: str
    attachments: list[Json] | UnsetType = UNSET


class Execute(Message, kw_only=True):
    """`send_message` as deployed agents hear it."""

    type: str = "execute"
    conversation_id: str
    prompt: str
    work_dir: str | UnsetType = UNSET
    claude_session_id: str | UnsetType = UNSET
    provider: str | UnsetType = UNSET


class TransferFiles(Execute, kw_only=True):
    """`execute` with files: a deployed agent stores them and then runs the prompt."""

    type: str = "transfer_files"
    files: list[Json]


class CancelExecution(Message, kw_only=True):
    type: str = "cancel_execution"
    conversation_id: str


class AskUserAnswer(Message, kw_only=True):
    """`answers`, by question, where the question came as `questions`."""

    type: str = "ask_user_answer"
    conversation_id: str
    request_id: str
    answer: Any = UNSET
    answers: Json | UnsetType = UNSET
    confirmed: bool | UnsetType = UNSET
    """Trunkline's addition, to agents: false for a no, which the wire has no word for."""


class OfSession(Message, kw_only=True):
    """What names the agent's own session; deployed agents call it `claudeSessionId`."""

    type: str
    conversation_id: str
    session_id: Any = None
    claude_session_id: Any = None


class Ready(OfSession, kw_only=True):
    """`session_ready`, `conversation_created`, `conversation_resumed`."""

    capabilities: Any = None
    model_info: Any = None
    provider: Any = None
    work_dir: Any = None


class Question(Message, kw_only=True):
    """`ask_user_question`: one `prompt`, or a list of `questions` with options of their own. The
    last three are Trunkline's addition."""

    type: str = "ask_user_question"
    conversation_id: str
    request_id: str
    prompt: Any = None
    choices: Any = None
    multi_select: Any = None
    questions: Any = None
    kind: Any = None
    tool_name: Any = None
    tool_input: Any = None


class Ended(OfSession, kw_only=True):
    """`turn_completed`, `execution_cancelled`, `conversation_closed`, `conversation_deleted`,
    `session_id_update`, and `error` of a conversation."""

    exit_code: Any = None
    message: Any = None
    error: Any = None


class Speaker(Message, kw_only=True):
    """Whose words a `yeaft_output` has, where an agent runs its groups itself."""

    vp_id: Any = None
    vp_name: Any = None


class AgentStatus(Message, kw_only=True):
    type: str = "agent_status"
    state: Any = None


class SlashCommandsUpdate(Message, kw_only=True):
    """Of a conversation, or under a name of the agent's own before there is any."""

    type: str = "slash_commands_update"
    slash_commands: Any = None
    slash_command_descriptions: Any = None


class Listed(Message, kw_only=True):
    """One conversation that an agent has."""

    id: Any = None
    processing: Any = None


class ConversationList(Message, kw_only=True):
    type: str = "conversation_list"
    conversations: list[Listed] = []
