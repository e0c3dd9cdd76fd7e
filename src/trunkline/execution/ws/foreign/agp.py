"""This machine as a device of a foreign AGP server (docs/protocols/agp.md).

A prompt starts its session where there is none. AGP has no words for questions: whatever needs a
person's yes is answered with a no, and the agent reads why.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import structlog
from yarl import URL

from trunkline import limits
from trunkline.execution.json_object import Json
from trunkline.execution.ws.disk_queue import Journal
from trunkline.execution.ws.foreign.agp_answers import Answers, Open
from trunkline.execution.ws.foreign.client import ForeignClient
from trunkline.execution.ws.foreign.prompts import Prompt, Streams
from trunkline.wire.agp import codec
from trunkline.wire.agp import messages as agp
from trunkline.wire.agp.outward import Outward, from_events
from trunkline.wire.errors import Malformed
from trunkline.wire.events import TERMINAL, SessionEvent, text_of
from trunkline.wire.repeats import Repeats

_log = structlog.get_logger(__name__)


_NOBODY = (
    "nobody can be asked over AGP; go on without it, or say that the machine's owner can allow"
    " tools with --confirm never"
)
_RESTARTED = "the machine was restarted before this message was answered"


class _Turn(msgspec.Struct):
    session_id: agp.Id
    prompt_id: agp.Id


class _Unreadable(msgspec.Struct):
    """As much of a broken prompt as is needed to say that it is broken."""

    payload: _Turn
    method: str = ""


_unreadable = msgspec.json.Decoder(_Unreadable)


class AgpClient(ForeignClient):
    """One device. Session ids in here are ours; those of messages are the server's."""

    def __init__(
        self,
        server: str,
        *,
        guid: str,
        user_id: str,
        token: str,
        agent_config: Json,
        folder: Path,
        on_refused: Callable[[str], None],
        **timing: Any,
    ) -> None:
        address = {"guid": guid, "user_id": user_id, "token": token}
        url = URL(server).update_query({name: one for name, one in address.items() if one})
        super().__init__(url, agent_config, folder, on_refused, **timing)
        self._guid = guid
        self._user_id = user_id
        self._repeats = Repeats(limits.AGP_MSG_IDS_KEPT)
        self._streams = Streams(self._stream, self.prompts)
        self._answers = Answers(Journal(folder / "answers.jsonl"))

    def settle(self) -> None:
        super().settle()
        self._answers.settle()

    async def close(self) -> None:
        await super().close()
        self._answers.close()

    def end_left(self) -> None:
        """Turns that the daemon knows of, it ends itself."""
        turns = set(self.machine.open_turns())
        for left in self._answers.open():
            self._streams.of(left.session_id).came(left.prompt_id, left.guid, left.user_id)
            if left.prompt_id not in turns:
                self.fail(left.session_id, left.prompt_id, "MACHINE_RESTARTED", _RESTARTED)

    def beat(self) -> bytes:
        """Not in the document; apps send it, for servers that count messages alone as life."""
        ping = {"msg_id": str(uuid4()), "guid": self._guid, "user_id": self._user_id}
        return msgspec.json.encode({**ping, "method": "ping", "payload": {}})

    def caught_up(self) -> list[bytes]:
        """A server takes a turn that stays silent after a reconnect for lost. These are not."""
        found = ((one, self.prompts.current(one)) for one in self.prompts)
        return [self._sign_of_life(one, prompt) for one, prompt in found if prompt is not None]

    def _sign_of_life(self, session_id: str, prompt: Prompt) -> bytes:
        guid, user_id = prompt.address
        payload = agp.UpdatePayload(
            self.names.foreign(session_id),
            prompt.turn_id,
            agp.MESSAGE_CHUNK,
            content=agp.ContentBlock(agp.TEXT, ""),
        )
        return codec.encode(
            agp.Update(msg_id=str(uuid4()), guid=guid, user_id=user_id, payload=payload)
        )

    def take(self, text: str) -> None:
        try:
            message = codec.decode_downlink(text)
        except Malformed as error:
            self._end_unreadable(text, f"not a prompt: {error}")
            raise
        match message:
            case agp.Prompt():
                self._prompted(message)
            case agp.Cancel():
                self._cancelled(message)
            case codec.Unknown():
                _log.info("a message of an unknown method", method=message.method[:100])
            case _:
                pass

    def _prompted(self, message: agp.Prompt) -> None:
        payload = message.payload
        prompt_id = payload.prompt_id
        try:
            session_id = self.names.local(payload.session_id)
        except ValueError as error:
            self._refuse(payload.session_id, prompt_id, str(error))
            return
        answer = self._answers.get(session_id, prompt_id)
        if answer is not None:
            self.reply(answer)  # the server has lost it, or it crossed on the way
            return
        is_known = self._answers.is_open(session_id, prompt_id)
        if is_known or not self._repeats.is_new(message.msg_id):
            return
        data = {"message": agp.shown(payload.content), "turn_id": prompt_id}
        address = (message.guid or self._guid, message.user_id or self._user_id)
        self._answers.begin(Open(session_id, prompt_id, *address))
        self._streams.of(session_id).came(prompt_id, *address)
        self.prompt(session_id, Prompt(prompt_id, data, address))

    def _cancelled(self, message: agp.Cancel) -> None:
        try:
            session_id = self.names.local(message.payload.session_id)
        except ValueError as error:
            raise Malformed(str(error)) from error
        if self._repeats.is_new(message.msg_id):
            self.cancel(session_id, message.payload.prompt_id)

    def _end_unreadable(self, text: str, why: str) -> None:
        """Whoever wrote the prompt waits for its turn to end."""
        try:
            broken = _unreadable.decode(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return
        if broken.method == "session.prompt":
            self._refuse(broken.payload.session_id, broken.payload.prompt_id, why)

    def _refuse(self, session_id: str, prompt_id: str, why: str) -> None:
        """A prompt that reaches no session."""
        payload = agp.PromptResponsePayload(session_id, prompt_id, agp.ERROR, error=why)
        msg_id = codec.msg_id_of("refused", session_id, prompt_id)
        answer = agp.PromptResponse(
            msg_id=msg_id, guid=self._guid, user_id=self._user_id, payload=payload
        )
        self.reply(codec.encode(answer))

    def begin(self, session_id: str, prompt: Prompt) -> None:
        self._streams.of(session_id).begin(prompt.turn_id, *prompt.address)

    def said(self, session_id: str, event_id: int, event: SessionEvent, line: str) -> list[bytes]:
        if event.type == "approval_request":
            no = {"request_id": event.question_id, "confirmed": False, "answer": _NOBODY}
            self.deliver(session_id, "approval_response", no)
        stream = self._streams.of(session_id)
        if event.type not in TERMINAL:
            return from_events(stream, event_id, line)
        prompt_id = text_of(event.turn_id) or stream.prompt_id
        answer = self._answers.get(session_id, prompt_id)
        if answer is not None and prompt_id not in stream.ended:
            return [answer]  # an earlier process gave it, and died before it could note the end
        bodies = from_events(stream, event_id, line)
        if bodies:
            self._answers.keep(session_id, prompt_id, bodies[-1])
        return bodies

    def _stream(self, session_id: str) -> Outward:
        return Outward(self.names.foreign(session_id), self._guid, self._user_id)
