"""What is known of a Yeaft agent. A value, which can be saved, loaded and compared; `AgentTalk` is
the only one that changes it."""

import msgspec

from trunkline.wire.commands import Say
from trunkline.wire.yeaft.conversation import Conversation
from trunkline.wire.yeaft.questions import Pending


class Owner(msgspec.Struct, frozen=True):
    """Whose agent it is, as it is told."""

    user_id: str
    username: str


class AgentState(msgspec.Struct):
    machine_id: str
    owner: Owner
    questions: Pending
    conversations: dict[str, Conversation] = {}
    current: dict[str, Say] = {}
    """Each conversation's active message, or the one to be told as soon as it can be talked to."""
    grace: dict[str, tuple[Say, float]] = {}
    """By session: what a person has stopped, and until when the agent may take to end it."""
    stopping: dict[str, float] = {}
    """Sessions that it was told to delete, and how long it has for that."""
    timed: dict[str, None] = {}
    """The conversations with a deadline."""
    fetches: int = 0
    now_s: float = 0.0
    is_up: bool = False
    is_synced: bool = False
    has_listed: bool = False
    """Whether the agent has said on this line which conversations it has."""
    work_dir: str = ""
    busy: set[str] = set()
    """Conversations that the agent says it is busy with."""
    returned: list[Say] = []
    """Turns that it was told of on an earlier line, until it lists its active ones."""
    missing: set[str] = set()
    """Those of them that it said it is not at: the core tells them again."""

    def encode(self) -> bytes:
        return msgspec.json.encode(self)


decode = msgspec.json.Decoder(AgentState).decode
