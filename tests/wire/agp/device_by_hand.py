"""An AGP device by hand: no line, no clock; what it is sent is what each input returns."""

from typing import Any

from tests.wire.core_by_hand import CoreByHand
from trunkline.wire import actions
from trunkline.wire.agp.device import Bounds, Device
from trunkline.wire.agp.device_state import DeviceState
from trunkline.wire.agp.inward import CallBounds
from trunkline.wire.agp.messages import (
    ContentBlock,
    Prompt,
    PromptResponse,
    PromptResponsePayload,
    ToolCall,
    Update,
    UpdatePayload,
    blocks,
)
from trunkline.wire.commands import Cancel, Say
from trunkline.wire.repeats import Repeats

GRACE_S, SILENCE_S, RETURNED_SILENCE_S, CANCELS_KEPT = 10.0, 600.0, 90.0, 3
BOUNDS = Bounds(
    cancel_grace_s=GRACE_S,
    silence_s=SILENCE_S,
    returned_silence_s=RETURNED_SILENCE_S,
    msg_ids_kept=100,
    cancels_kept=CANCELS_KEPT,
    streamed_chars_max=1000,
    tool_calls_kept=10,
    tool_call=CallBounds(100, 40, 100, 10),
    attachments_max=20,
    app_chars_max=60,
)


class Here:
    """A device by hand, with its core."""

    def __init__(self, core: CoreByHand | None = None, *, is_up: bool = True) -> None:
        self.core = core or CoreByHand("s")
        known = DeviceState("guid", "user", Repeats(BOUNDS.msg_ids_kept))
        self.device = Device(known, self.core, BOUNDS)
        self.now_s = 0.0
        self._count = 0
        if is_up:
            self.line_up()

    def run(self) -> list[Any]:
        """What the device is sent because of it."""
        return [one.message for one in self._sends(self.core.run(self.device.out))]

    @staticmethod
    def _sends(done: list[Any]) -> list[actions.Send]:
        return [one for one in done if isinstance(one, actions.Send)]

    def line_up(self) -> list[Any]:
        self.device.line_up()
        return self.run()

    def told(self, command: Any) -> list[Any]:
        self.device.deliver(command, self.now_s)
        return self.run()

    def say(self, turn_id: str, session_id: str = "s", text: str = "do it") -> list[Any]:
        self.core.open(session_id, turn_id)
        return self.told(Say(session_id, turn_id, text, [], {}))

    def cancel(self) -> list[Any]:
        return self.told(Cancel("s", "enough"))

    def passes(self, seconds: float, *, is_stalled: bool = False) -> list[Any]:
        self.now_s += seconds
        self.device.tick(self.now_s, is_stalled=is_stalled)
        return self.run()

    def _id(self, msg_id: str | None) -> str:
        self._count += 1
        return msg_id or f"message {self._count}"

    def text(self, turn_id: str, text: str = "word", **who: str) -> bool:
        payload = UpdatePayload(
            who.pop("session_id", "s"), turn_id, "message_chunk", ContentBlock("text", text)
        )
        return self.update(payload, who)

    def tool(self, turn_id: str, status: str, **who: str) -> bool:
        call = ToolCall("call", status, title="look")
        return self.update(UpdatePayload("s", turn_id, "tool_call", tool_call=call), who)

    def update(self, payload: UpdatePayload, who: dict[str, str]) -> bool:
        message = Update(
            msg_id=self._id(who.get("msg_id")),
            guid=who.get("guid", "guid"),
            user_id=who.get("user_id", "user"),
            payload=payload,
        )
        lines = self.device.update(message, 0)
        self.core.write(payload.session_id, lines or [])
        self.run()
        return lines is not None

    def answer(self, turn_id: str, text: str = "done", **who: str) -> list[Any]:
        payload = PromptResponsePayload(
            who.get("session_id", "s"), turn_id, who.get("reason", "end_turn"), blocks(text)
        )
        message = PromptResponse(
            msg_id=self._id(who.get("msg_id")),
            guid=who.get("guid", "guid"),
            user_id=who.get("user_id", "user"),
            payload=payload,
        )
        self.device.answer(message, 0)
        return self.run()

    @property
    def refused(self) -> list[tuple[str, str]]:
        return [(one.kind, one.name) for one in self.core.of(actions.Refuse)]


def shown(messages: list[Any]) -> list[tuple[str, str]]:
    """What a device is sent, in short."""
    return [
        ("prompt" if isinstance(one, Prompt) else "cancel", one.payload.prompt_id)
        for one in messages
    ]
