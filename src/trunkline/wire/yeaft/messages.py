"""Every message of the Yeaft wire that somebody here reads or writes (002, WIRE-NOTES).

Names are the wire's own in camelCase. What a peer leaves out has a default, what we do not know
is ignored; `type` is a plain field, because one message may come under several names.
"""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

Json = dict[str, Any]
Text = str | UnsetType | None
"""Given, given as null, or left out."""


class Message(msgspec.Struct, rename="camel"):
    """Fields that are UNSET do not travel."""


class Envelope(msgspec.Struct, rename="camel", gc=False):
    """As much of any message as a relay needs (002, "Envelope 通用结构")."""

    type: str
    conversation_id: Any = None
    session_id: Any = None
    data: msgspec.Raw = msgspec.Raw()


# --- The agent's handshake ------------------------------------------------------------------------


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


# --- From clients, and on to agents ---------------------------------------------------------------


class CreateConversation(Message, kw_only=True):
    """The fields of both dialects: an agent takes those that it knows."""

    type: str = "create_conversation"
    conversation_id: str | UnsetType = UNSET
    agent_id: Text = UNSET
    provider: Text = UNSET
    work_dir: Text = UNSET
    options: Json | UnsetType | None = UNSET
    user_id: str | UnsetType = UNSET
    username: str | UnsetType = UNSET
    provider_options: Json | UnsetType | None = UNSET
    disallowed_tools: list[str] | UnsetType | None = UNSET


class ResumeConversation(Message, kw_only=True):
    """`claudeSessionId` is what deployed agents call the session's id."""

    type: str = "resume_conversation"
    conversation_id: str
    session_id: Text = UNSET
    claude_session_id: Text = UNSET
    work_dir: Text = UNSET
    provider: Text = UNSET
    options: Json | UnsetType | None = UNSET
    user_id: str | UnsetType = UNSET
    username: str | UnsetType = UNSET
    provider_options: Json | UnsetType | None = UNSET
    disallowed_tools: list[str] | UnsetType | None = UNSET


class DeleteConversation(Message, kw_only=True):
    type: str = "delete_conversation"
    conversation_id: str


class SendMessage(Message, kw_only=True):
    """`attachments`: `{name, mime, base64}` each."""

    type: str = "send_message"
    conversation_id: str
    text: str
    attachments: list[Json] | UnsetType | None = UNSET
    client_message_id: Text = UNSET


class Execute(Message, kw_only=True):
    """`send_message` as deployed agents hear it."""

    type: str = "execute"
    conversation_id: str
    prompt: str
    work_dir: str | UnsetType = UNSET
    claude_session_id: str | UnsetType = UNSET
    provider: str | UnsetType = UNSET


class TransferFiles(Message, kw_only=True):
    """`execute` with files: a deployed agent stores them and then runs the prompt."""

    type: str = "transfer_files"
    conversation_id: str
    files: list[Json]
    prompt: str
    work_dir: str | UnsetType = UNSET
    claude_session_id: str | UnsetType = UNSET
    provider: str | UnsetType = UNSET


class CancelExecution(Message, kw_only=True):
    type: str = "cancel_execution"
    conversation_id: str


class AskUserAnswer(Message, kw_only=True):
    """`answers`, by question, where the question came as `questions`."""

    type: str = "ask_user_answer"
    conversation_id: Text = UNSET
    request_id: str
    answer: Any = UNSET
    answers: Json | UnsetType | None = UNSET
    confirmed: bool | UnsetType = UNSET
    """Trunkline's addition, to agents: false for a no, which the wire has no word for."""


# --- From agents ----------------------------------------------------------------------------------


class Ready(Message, kw_only=True):
    """`session_ready`, `conversation_created`, `conversation_resumed`."""

    type: str
    conversation_id: str
    session_id: Any = None
    claude_session_id: Any = None
    capabilities: Any = None
    model_info: Any = None
    provider: Any = None
    work_dir: Any = None


class Question(Message, kw_only=True):
    """`ask_user_question`: one `prompt`, or a list of `questions` with options of their own."""

    type: str = "ask_user_question"
    conversation_id: str
    request_id: str
    prompt: Any = None
    choices: Any = None
    multi_select: Any = None
    questions: Any = None


class Ended(Message, kw_only=True):
    """`turn_completed`, `execution_cancelled`, `conversation_closed`, `conversation_deleted`,
    `session_id_update`, and `error` of a conversation."""

    type: str
    conversation_id: str
    session_id: Any = None
    claude_session_id: Any = None
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


class Listed(Message, kw_only=True):
    """One conversation that an agent has."""

    id: Any = None
    processing: Any = None


class ConversationList(Message, kw_only=True):
    type: str = "conversation_list"
    conversations: list[Listed] = []
