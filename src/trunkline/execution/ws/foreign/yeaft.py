"""This machine as an agent of a foreign Yeaft server (docs/protocols/yeaft.md).

Each conversation is a session. It is spoken in the dialect that the server uses for it: documented
(`send_message` … `result`), or deployed (`execute` … `turn_completed`).
"""

import contextlib
import re
from collections.abc import Callable
from typing import Any, NamedTuple
from uuid import uuid4

import structlog

from trunkline import limits
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.foreign.library import Library
from trunkline.execution.ws.connection import Socket
from trunkline.execution.ws.foreign.client import ForeignClient
from trunkline.execution.ws.foreign.prompts import Prompt, Streams
from trunkline.execution.ws.foreign.yeaft_adopted import ForeignConversations
from trunkline.execution.ws.foreign.yeaft_choices import Choices
from trunkline.execution.ws.foreign.yeaft_conversations import LIST, Conversations
from trunkline.execution.ws.foreign.yeaft_handshake import CAPABILITIES, Introduction
from trunkline.execution.ws.foreign.yeaft_queries import Queries, messages_of
from trunkline.execution.ws.foreign.yeaft_questions import Asked, answer_of
from trunkline.wire.errors import Malformed
from trunkline.wire.events import TERMINAL, SessionEvent, text_of
from trunkline.wire.repeats import Repeats
from trunkline.wire.yeaft.outward import from_events
from trunkline.wire.yeaft.outward_frames import envelope, session_ready
from trunkline.wire.yeaft.outward_state import Outward
from trunkline.wire.yeaft.providers import DEFAULT_PROVIDER, shown_to_pages
from trunkline.wire.yeaft.web import Request

_log = structlog.get_logger(__name__)

WIRE_QUESTIONS_MAX = 1_000  # whose answers are waited for


_TOLD = re.compile(r'"(problems|commands)"')
"""What a server is told of a session's state."""
_DEPLOYED_ONLY = ("userId", "username", "providerOptions", "disallowedTools")
_DEPLOYED_TALK = ("execute", "transfer_files")
_WHOSE = ("userId", "username")


class _Awaited(NamedTuple):
    """A start that somebody waits for."""

    whose: Json
    """Echoed: a server may know by this alone who is to see the conversation."""
    provider: str
    """Echoed too: which program the server believes to run here is its own affair."""
    history: list[Json] | None = None
    """What was said before, where a conversation is taken up again."""


class YeaftClient(ForeignClient):
    """One agent. Session ids in here are ours; conversations are the server's."""

    def __init__(
        self,
        server: str,
        introduction: Introduction,
        *,
        agent_config: Json,
        home: Home,
        library: Library,
        on_refused: Callable[[str], None],
        **timing: Any,
    ) -> None:
        folder = home.internal / "yeaft"
        url = introduction.url(server)
        super().__init__(url, agent_config, folder, on_refused, **timing)
        self._introduction = introduction
        self._home = home
        self._deployed_mark = folder / "deployed"
        """There while the server speaks that dialect: turns may end before it says so again."""
        self._streams = Streams(self._stream, self.prompts)
        self._model = text_of(agent_config.get("model")) or "default"
        self._awaited: dict[str, _Awaited] = {}
        self._taken_up: dict[str, Json] = {}
        """Sessions whose history is being read before they start, and for whom."""
        self._questions: dict[str, Asked] = {}
        self._repeats = Repeats(limits.AGP_MSG_IDS_KEPT)
        self._others = ForeignConversations(home, library, folder / "adopted.json")
        self._queries = Queries(home, self._others, self._model, self.say_now)
        self._choices = Choices(home, agent_config, lambda: self.machine.health())
        self._conversations = Conversations(
            home,
            self.names,
            lambda: self.machine.active_sessions(),
            self._at_work,
            self._choices.folder,
            self.say_now,
        )
        self._take: dict[str, Callable[[Request], None]] = {
            "create_conversation": self._create,
            "resume_conversation": self._resume,
            "delete_conversation": self._delete,
            "send_message": self._message,
            "chat": self._message,
            "execute": self._message,
            "transfer_files": self._message,
            "cancel_execution": self._cancel,
            "ask_user_answer": self._answer,
            "yeaft_session_chat": self._no_groups,
            **self._conversations.takes,
            **self._queries.takes,
        }

    async def greet(self, socket: Socket) -> None:
        await self._introduction.greet(socket, self._choices.providers())

    def opening(self) -> list[bytes]:
        return [self.beat(), self._conversations.listed()]

    def caught_up(self) -> list[bytes]:
        return [envelope("agent_sync_complete")]

    def beat(self) -> bytes:
        return envelope("agent_status", state="busy" if len(self.prompts) else "idle")

    def outgoing(self, body: bytes) -> bytes:
        return self._conversations.listed() if body == LIST else body

    async def close(self) -> None:
        await self._queries.close()
        await super().close()

    def take(self, text: str) -> None:
        request = Request(text)
        take = self._take.get(request.type)
        if take is None:
            _log.info("a message of an unknown type", type=request.name[:100])
            return
        try:
            take(request)
        except Malformed as error:
            self._refuse(request, "INVALID_MESSAGE", str(error))
            raise

    def _refuse(self, request: Request, code: str, why: str) -> None:
        conversation = request.fields.get("conversationId")
        more = {"conversationId": conversation, "requestId": request.fields.get("requestId")}
        self.say_now(envelope("error", message=why, code=code, **more))

    def _create(self, request: Request) -> None:
        request.fields.setdefault("conversationId", str(uuid4()))
        session_id = self._conversations.session_of(request)
        if "options" in request.fields:
            self._speak(session_id, is_deployed=False)
        elif any(name in request.fields for name in _DEPLOYED_ONLY):
            self._speak(session_id, is_deployed=True)
        self._choose(session_id, request)
        self._await_start(session_id, _Awaited(_whose(request), self._provider(request)))

    def _resume(self, request: Request) -> None:
        """A session of the list goes on, under the name that the server gives it."""
        conversation_id = request.need("conversationId")
        named = request.get("sessionId", "claudeSessionId")
        if named is not None and named != conversation_id and self._conversations.is_here(named):
            self.names.bind(conversation_id, named)
            self._streams.forget(named)
        session_id = self._conversations.session_of(request)
        if request.get("claudeSessionId") is not None:
            self._speak(session_id, is_deployed=True)
        if self._choices.begun(session_id) is None:
            self._choose(session_id, request)
        whose = self._taken_up[session_id] = _whose(request)
        provider = self._provider(request)

        is_here = self._conversations.is_here(session_id)

        def find() -> Json:
            other = self._others.find(session_id, None if is_here else named or conversation_id)
            said = messages_of(self._home, session_id) if other is None else other.said
            return {"said": said, "adopted": other and other.adopted}

        def go_on(found: Json) -> None:
            if self._taken_up.get(session_id) is whose:  # not deleted, nor asked for again since
                del self._taken_up[session_id]
                if found.get("adopted"):
                    self._others.take_up(session_id, found["adopted"])
                self._await_start(session_id, _Awaited(whose, provider, found.get("said", [])))

        self._queries.look(find, go_on)

    def _choose(self, session_id: str, request: Request) -> None:
        self._choices.choose(session_id, request.get("provider"), request.get("workDir"))

    def start_of(self, session_id: str) -> Json:
        usual = self._choices.start_of(session_id)
        return {**usual, **self._others.start_of(session_id, self._agent_config)}

    def _provider(self, request: Request) -> str:
        """The one that the server asks for, where it can be told so."""
        asked = request.get("provider") or DEFAULT_PROVIDER
        is_deployed = self._streams.of(self._conversations.session_of(request)).deployed
        if is_deployed:
            return shown_to_pages(asked)
        return asked if len(asked) <= limits.NAME_CHARS_MAX else DEFAULT_PROVIDER

    def _delete(self, request: Request) -> None:
        conversation_id = request.need("conversationId")
        session_id = self._conversations.session_of(request)
        self._taken_up.pop(session_id, None)
        self._awaited.pop(session_id, None)
        self.stop(session_id)
        self._conversations.delete(session_id)
        self._others.forget(session_id)
        self._streams.forget(session_id)
        self.names.forget(conversation_id)
        self.reply(envelope("conversation_deleted", conversationId=conversation_id))

    def _await_start(self, session_id: str, awaited: _Awaited) -> None:
        self._conversations.want(session_id)
        self._awaited[session_id] = awaited
        self.start(session_id)

    def started(self, session_id: str) -> None:
        awaited = self._awaited.pop(session_id, None)
        if awaited is None or session_id not in self.machine.active_sessions():
            return  # nobody waits, or it was told why there is no session
        stream = self._streams.of(session_id)
        ready = {
            "session_id": session_id,
            "capabilities": CAPABILITIES,
            "model_info": {"model": self._model},
            "provider": awaited.provider,
            "work_dir": self._others.folder_of(session_id) or self._choices.folder(session_id),
        }
        more = awaited.whose
        if stream.deployed and awaited.history is not None:
            more = {**more, "history": [], "historyMessages": awaited.history}
        self._conversations.opened(session_id)
        self.reply(
            session_ready(
                stream.conversation_id, stream.agent_id, ready, deployed=stream.deployed, **more
            )
        )
        if stream.deployed and session_id in self.prompts:
            self.reply(LIST)  # it takes a conversation that was opened to be idle

    def _at_work(self) -> set[str]:
        return {*self.prompts, *self.unended}

    def _message(self, request: Request) -> None:
        session_id = self._conversations.session_of(request)
        said = request.get("clientMessageId")
        name = f"{session_id}/{said[:200]}" if said is not None else ""
        if name in self._repeats:
            return
        self._speak(session_id, is_deployed=request.type in _DEPLOYED_TALK)
        if "files" in request.fields:
            request.fields["attachments"] = request.fields["files"]
        files = request.attachments(limits.ATTACHMENTS_MAX, limits.ATTACHMENTS_BYTES_MAX)
        data: Json = {"message": request.get("text", "prompt") or "", "turn_id": uuid4().hex}
        if not data["message"] and not files:
            raise Malformed(f"{request.name} needs text")
        if files:
            data["metadata"] = {"attachments": files}
        self._conversations.want(session_id)
        echo = self._echo(session_id, data["message"], said)
        if self.prompt(session_id, Prompt(data["turn_id"], data), echo) and name:
            self._repeats.is_new(name)  # one that was refused may come again, mended or later

    def _echo(self, session_id: str, text: str, said: str | None) -> bytes | None:
        """Deployed servers keep, and show on a person's other pages, what an agent repeats."""
        stream = self._streams.of(session_id)
        if not text or not stream.deployed:
            return None
        self._conversations.make_known(session_id)
        data: Json = {"type": "user", "message": {"role": "user", "content": text}}
        if said is not None:
            data["clientMessageId"] = said
        return stream.own.data(data)

    def begin(self, session_id: str, prompt: Prompt) -> None:
        began = SessionEvent("user_message", turn_id=prompt.turn_id)
        self._streams.of(session_id).turn(began).started_ms = int(self._clock() * 1000)

    def _cancel(self, request: Request) -> None:
        session_id = self._conversations.session_of(request)
        current = self.prompts.current(session_id)
        if current is not None:
            self.cancel(session_id, current.turn_id)
            return
        if session_id in self.machine.active_sessions():
            # A turn of an earlier daemon may wait there for a person.
            self.deliver(session_id, "cancel", {"reason": "user_cancelled"})
        if self._streams.of(session_id).deployed:
            # It is over already: whoever asked waits for the word.
            conversation_id = request.need("conversationId")
            self.reply(envelope("execution_cancelled", conversationId=conversation_id))

    def _answer(self, request: Request) -> None:
        request_id = request.need("requestId")
        asked = self._questions.pop(request_id, None)
        if asked is None:
            _log.info("an answer to no open question", request_id=request_id[:100])
            return
        data = answer_of(asked, request_id, request.fields)
        self.deliver(asked.session_id, "approval_response", data)

    def said(self, session_id: str, event_id: int, event: SessionEvent, line: str) -> list[bytes]:
        if self._conversations.is_deleted(session_id):
            return []
        if event.type == "approval_request":
            self._questions[event.question_id] = Asked.of(session_id, event)
            while len(self._questions) > WIRE_QUESTIONS_MAX:
                del self._questions[next(iter(self._questions))]
        elif event.type == "approval_resolved":
            self._questions.pop(event.question_id, None)
        elif event.type == "session_status" and not _TOLD.search(line):
            return []  # a server knows better than we do whether we are there
        elif self._is_refused_start(session_id, event):
            return [self._not_started(session_id, event)]
        self._conversations.make_known(session_id)
        stream = self._streams.of(session_id)
        bodies = [out.body for out in from_events(stream, event_id, line)]
        if not (bodies and stream.deployed and event.type in TERMINAL):
            return bodies
        turn_id = event.turn_id if isinstance(event.turn_id, str) else None
        if not self.prompts.has_other(session_id, turn_id):
            return bodies
        # The server takes this end for the last one, and drops the next, unless it is told.
        if event.cancelled is True:
            return [*bodies, LIST]
        more = {"conversationId": stream.conversation_id, "hasQueuedFollowUp": True}
        return [*bodies[:-1], envelope("turn_completed", **more)]

    def _is_refused_start(self, session_id: str, event: SessionEvent) -> bool:
        """Whether it says why a session that somebody waits for cannot be."""
        is_error = event.type == "execution_error" and event.turn_id is None
        return is_error and session_id in self._awaited

    def _not_started(self, session_id: str, event: SessionEvent) -> bytes:
        awaited = self._awaited.pop(session_id)
        conversation_id = self.names.foreign(session_id)
        why, code = text_of(event.error), text_of(event.code)
        told = {"conversationId": conversation_id, "message": why, "code": code, **awaited.whose}
        return envelope("error", **told)

    def _stream(self, session_id: str) -> Outward:
        stream = Outward(
            self.names.foreign(session_id),
            agent_id=self._introduction.id,
            deployed=self._deployed_mark.exists(),
        )
        stream.session_id = session_id
        return stream

    def _speak(self, session_id: str, *, is_deployed: bool) -> None:
        """The server has shown which dialect it speaks."""
        stream = self._streams.of(session_id)
        if stream.deployed != is_deployed:
            stream.deployed = is_deployed
            with contextlib.suppress(OSError):
                if is_deployed:
                    self._deployed_mark.touch()
                else:
                    self._deployed_mark.unlink(missing_ok=True)

    def _no_groups(self, request: Request) -> None:
        why = "this agent runs no groups; send_message talks to it alone"
        self._refuse(request, "NOT_SUPPORTED", why)


def _whose(request: Request) -> Json:
    return {name: request.fields[name] for name in _WHOSE if name in request.fields}
