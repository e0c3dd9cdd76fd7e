"""What a translation to MyAgent messages remembers of one session, and what all of it shares."""

from collections.abc import Callable
from typing import Any

from trunkline.wire.events import SessionEvent
from trunkline.wire.myagent import messages as names
from trunkline.wire.myagent.messages import Downlink
from trunkline.wire.myagent.turns import Underway, number


class Outward:
    """What a translation remembers of one session."""

    def __init__(
        self,
        session_id: str,
        now: Callable[[], int],
        *,
        typed: bool = False,
        llm_messages: bool = False,
        confirm_timeout_s: float,
        text_chars_max: int,
    ) -> None:
        self.session_id = session_id
        self.now = now
        self.typed = typed
        self.llm_messages = llm_messages
        self.confirm_timeout_s = confirm_timeout_s
        self.underway = Underway(text_chars_max)


Handler = Callable[[Outward, int, SessionEvent], list[Downlink]]


def llm_message(state: Outward, role: str, text: str, step_id: str | None = None) -> list[Downlink]:
    """A line of the conversation with the model, where those are asked for."""
    if not state.llm_messages or not text:
        return []
    return [Downlink(names.LLM_MESSAGE, step_id=step_id, content=text, metadata={"role": role})]


def ms_between(start: int | None, end: Any) -> int | None:
    stop = number(end)
    return None if start is None or stop is None else max(0, stop - start)
