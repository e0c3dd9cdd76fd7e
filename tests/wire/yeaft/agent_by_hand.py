"""A Yeaft agent by hand: no line, no clock; what it is sent is what each input returns."""

import json
from typing import Any

from tests.wire.core_by_hand import CoreByHand
from trunkline.wire import actions
from trunkline.wire.commands import Cancel, Command, Forward, Say, Start
from trunkline.wire.yeaft import codec
from trunkline.wire.yeaft.agent_state import AgentState, Owner
from trunkline.wire.yeaft.agent_talk import AgentTalk
from trunkline.wire.yeaft.conversation import Bounds
from trunkline.wire.yeaft.inward_state import DEPLOYED, DOCUMENTED
from trunkline.wire.yeaft.questions import Pending

Json = dict[str, Any]

GRACE_S, QUIET_S, RESUME_S, START_S = 10.0, 5.0, 2.0, 60.0
SILENCE_S, BUSY_SILENCE_S = 120.0, 600.0
BOUNDS = Bounds(
    answer_chars_max=1000,
    tools_max=10,
    persons_max=10,
    questions_max=3,
    question_chars_max=500,
    question_timeout_s=300.0,
    name_chars_max=200,
    path_chars_max=200,
    forwards_max=100,
    forwards_chars_max=10_000,
    start_timeout_s=START_S,
    resume_wait_s=RESUME_S,
    cancel_grace_s=GRACE_S,
    quiet_s=QUIET_S,
    silence_s=SILENCE_S,
    busy_silence_s=BUSY_SILENCE_S,
)
READY = {DOCUMENTED: "session_ready", DEPLOYED: "conversation_created"}


def start_of(session_id: str, **config: Any) -> Start:
    return Start(session_id, "semigraph", {}, [], [], [], config)


def said(text: str, session_id: str = "s") -> Json:
    content = [{"type": "text", "text": text}]
    data = {"type": "assistant", "message": {"role": "assistant", "content": content}}
    return {"type": "claude_output", "conversationId": session_id, "data": data}


def result(session_id: str = "s", **fields: Any) -> Json:
    data = {"type": "result", **fields}
    return {"type": "claude_output", "conversationId": session_id, "data": data}


def names(messages: list[Json]) -> list[str]:
    """What an agent is sent, in short."""
    return [one["type"] for one in messages]


class Here:
    """An agent that is synced, unless it is to be otherwise. `fetches`: whether the `Start` that it
    asks for is there at once."""

    def __init__(
        self,
        core: CoreByHand | None = None,
        *,
        is_up: bool = True,
        fetches: bool = True,
        bounds: Bounds = BOUNDS,
    ) -> None:
        self.core = core or CoreByHand()
        waiting = Pending(bounds.questions_max, int(bounds.question_timeout_s * 1000))
        known = AgentState("m", Owner("u", "ada"), waiting)
        self.talk = AgentTalk(known, self.core, bounds)
        self.fetches = fetches
        self.now_s = 0.0
        self.sent: list[Json] = []
        if is_up:
            self.line_up()
            self.synced()

    def run(self) -> list[Json]:
        """What the agent is sent because of it."""
        sent: list[Json] = []
        while self.talk.out:
            for action in self.core.run(self.talk.out):
                if isinstance(action, actions.Send):
                    sent.append(json.loads(action.message))
                elif isinstance(action, actions.Fetch) and self.fetches:
                    self._fetched(action)
        self.sent += sent
        return sent

    def _fetched(self, wanted: actions.Fetch) -> None:
        start = start_of(wanted.session_id)
        self.talk.fetched(wanted.session_id, wanted.number, start, self.now_s)

    def fetched(self) -> list[Json]:
        """The newest `Start` that it asked for is there."""
        self._fetched(self.core.of(actions.Fetch)[-1])
        return self.run()

    def line_up(self) -> None:
        self.talk.line_up("/srv")

    def synced(self) -> list[Json]:
        self.talk.synced(self.now_s)
        return self.run()

    def listed(self, **conversations: bool) -> list[Json]:
        self.talk.listed(conversations)
        return self.run()

    def again(self) -> None:
        """The line breaks, and the agent comes back; it has said nothing yet."""
        self.talk.line_down()
        self.line_up()

    def hears(self, message: Json, session_id: str | None = None) -> list[Json]:
        text = json.dumps(message, separators=(",", ":"))
        session_id = session_id or str(message["conversationId"])
        lines = self.talk.heard(session_id, codec.decode(text), text, self.now_s, self.ms)
        self.core.write(session_id, lines)
        return self.run()

    def told(self, command: Command) -> list[Json]:
        self.talk.deliver(command, self.now_s)
        return self.run()

    def say(self, turn_id: str, session_id: str = "s") -> list[Json]:
        self.core.open(session_id, turn_id)
        return self.told(Say(session_id, turn_id, f"do {turn_id}", [], {}))

    def cancel(self, session_id: str = "s") -> list[Json]:
        return self.told(Cancel(session_id, "enough"))

    def forward(self, number: int, session_id: str = "s", chars: int = 0) -> list[Json]:
        text = json.dumps({"type": "custom", "n": number, "pad": "x" * chars})
        return self.told(Forward(session_id, "yeaft", text))

    def passes(self, seconds: float, *, is_stalled: bool = False) -> list[Json]:
        self.now_s += seconds
        self.talk.tick(self.now_s, self.ms, is_stalled=is_stalled)
        return self.run()

    @property
    def ms(self) -> int:
        return int(self.now_s * 1000)

    def ready(self, dialect: str = DOCUMENTED, session_id: str = "s", **more: str) -> list[Json]:
        return self.hears({"type": READY[dialect], "conversationId": session_id, **more})

    def says(self) -> list[str]:
        """The messages that went out, of either dialect."""
        fields = {"send_message": "text", "execute": "prompt"}
        return [one[fields[one["type"]]] for one in self.sent if one["type"] in fields]
