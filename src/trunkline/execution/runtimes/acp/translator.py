"""What an ACP agent says, as session events. No I/O: messages in, events out, one state a session.

Both generations of names are understood: `session/update` with its kinds, and the older
`session/agent_text`, `agent_thought`, `tool_call`, `tool_result`, `turn_complete`. What is not
known is ignored.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from trunkline import limits
from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.acp import content
from trunkline.execution.runtimes.acp.calls import Call
from trunkline.execution.runtimes.acp.content import items, obj, text
from trunkline.execution.runtimes.acp.options import Options
from trunkline.execution.texts import Excerpt

CALLS_MAX = 1_000  # of one turn
PLAN_ENTRIES_MAX = 200
COMMANDS_MAX = 500
TERMINALS_MAX = 20  # whose output waits for its call
_COMMAND_CHARS_MAX = 1_000
_TEXT = "agent_message_chunk"
_MARKS = {"completed": "x", "in_progress": "~"}

Events = list[Json]


class Translator:
    """`begin` a turn, `take` what comes, `end` it."""

    def __init__(self) -> None:
        self._calls: dict[str, Call] = {}
        self._announced: Call | None = None
        self._unclaimed: dict[str, Excerpt] = {}
        """By terminal, what it printed before a call was said to run in it."""
        self._blocks: list[str] = []
        self._chars = 0
        self._plan_id = ""
        """Of the plan that readers see, where it has a name."""
        self._message_id = ""
        self._before = ""
        self._is_broken = True
        """Whether a tool was used since the last piece of text."""
        self.options = Options()
        self.lone_text = ""
        """The last thing said, if it was an aside and nothing followed."""
        self.asides: tuple[str, ...] = ()
        """How words of the agent's own begin, of errors too, that it puts between those of the
        model: each in one piece."""
        self.names_words = False
        """Whether words of the model have a name, which those of the agent's own have not. What
        is an answer to a command of the agent's does not end as a paragraph does."""
        self.cost_usd: float | None = None
        """Of the whole session so far, where the agent says so."""
        self.stopped: Json | None = None
        """How the turn ended, as the older generation tells it."""

    @property
    def answer(self) -> str:
        """The last thing that was said: what stands behind the last tool call."""
        return next((one.strip() for one in reversed(self._blocks) if one.strip()), "")

    def begin(self) -> None:
        self._calls.clear()
        self._unclaimed.clear()
        self._announced = None
        self._blocks = []
        self._chars = 0
        self._is_broken = True
        self._message_id = self._before = self.lone_text = ""
        self.stopped = None

    def take(self, method: str, params: Any) -> Events:
        """A notification of the agent's."""
        fields = obj(params)
        if method == "session/update":
            update = obj(fields.get("update"))
        elif method in _OLDER:
            update = _OLDER[method](fields)
        else:
            return []
        kind = update.get("sessionUpdate")
        handle = _HANDLERS.get(kind) if isinstance(kind, str) else None
        if handle is None:
            return []
        told = handle(self, update)
        if kind != _TEXT:
            self._before = str(kind)
        return told

    def asked(self, params: Any) -> tuple[Events, Call]:
        """A question about a tool call: what readers must see first, and the call as the person
        is to see it. The question may show less, or under other names, than the call: both."""
        told = obj(params)
        fields = obj(told.get("toolCall")) or _older_call(told)
        call = self._call(fields)
        known = dict(call.input)
        question = msgspec.structs.replace(call)
        question.learn({**fields, "status": None})
        question.input = {**known, **question.input}
        if call.has_more_to_tell and not call.is_started:
            call.learn({**fields, "status": None})
            call.input = question.input
        self._is_broken, self._before = True, "permission"
        return [*self._flush(but=call), *call.start()], question

    def printed(self, terminal_id: str, piece: str) -> Events:
        """Output of a terminal that we run for the agent; of the call that shows it."""
        for call in reversed(self._calls.values()):
            if terminal_id in call.shows.terminals:
                return call.printed(piece)
        if len(self._unclaimed) < TERMINALS_MAX or terminal_id in self._unclaimed:
            kept = self._unclaimed.setdefault(terminal_id, Excerpt(limits.TOOL_RESULT_CHARS_MAX))
            kept.add(piece)
        return []

    def end(self, why: str) -> Events:
        """The turn is over; calls that are still open get their end."""
        told = self._flush()
        for call in self._calls.values():
            told += call.give_up(why)
        return told

    def _text(self, update: Json) -> Events:
        piece = content.block_text(update.get("content"))
        if not piece:
            return []
        message_id = text(update.get("messageId"), limits.ID_CHARS_MAX)
        is_own = self.names_words and not message_id and piece.endswith("\n\n")
        if is_own or (self._before != _TEXT and piece.startswith(self.asides)):
            self.lone_text, self._before = piece, "aside"
            return [*self._flush(), {"type": "thinking", "stage": "model", "content": piece}]
        self.lone_text, self._before = "", _TEXT
        if self._is_broken:
            self._blocks.append("")
        elif message_id and self._message_id and message_id != self._message_id:
            piece = "\n\n" + piece  # another message, with nothing between the two
        self._is_broken, self._message_id = False, message_id
        room = limits.MESSAGE_CHARS_MAX - self._chars
        self._blocks[-1] += piece[: max(0, room)]
        self._chars += len(piece)
        return [*self._flush(), {"type": "text_chunk", "content": piece}]

    def _thought(self, update: Json) -> Events:
        self.lone_text = ""
        piece = content.block_text(update.get("content"))
        told = {"type": "thinking", "stage": "reasoning", "content": piece}
        return [*self._flush(), told] if piece else []

    def _tool(self, update: Json) -> Events:
        """A call, or news of one: also of one that was never announced."""
        if not content.text(update.get("toolCallId"), limits.ID_CHARS_MAX):
            return []
        self.lone_text, self._is_broken = "", True
        call = self._call(update)
        before = self._flush(but=call)
        call.learn(update)
        told: Events = []
        for terminal_id in call.shows.terminals:
            if (kept := self._unclaimed.pop(terminal_id, None)) is not None:
                told += call.printed(str(kept))
        if piece := content.printed_aside(update):
            told += call.printed(piece)
        told += call.events()
        self._announced = None if call.is_started else call
        return [*before, *told]

    def _call(self, fields: Json) -> Call:
        call_id = text(fields.get("toolCallId"), limits.ID_CHARS_MAX)
        call = self._calls.get(call_id)
        if call is None:
            if len(self._calls) >= CALLS_MAX:
                self._calls.pop(next(iter(self._calls)))
            call = self._calls[call_id] = Call(id=call_id)
        return call

    def _flush(self, but: Call | None = None) -> Events:
        """A call that was announced and of which nothing more came begins now."""
        call, self._announced = self._announced, None
        return [] if call is None or call is but else call.start()

    def _plan(self, update: Json) -> Events:
        entries = update.get("entries")
        self._plan_id = text(update.get("planId"), limits.ID_CHARS_MAX)
        return [_plan_event({"tasks": _tasks(entries)})] if isinstance(entries, list) else []

    def _plan_update(self, update: Json) -> Events:
        plan = obj(update.get("plan")) or update
        self._plan_id = text(plan.get("planId"), limits.ID_CHARS_MAX)
        if plan.get("type") == "markdown":
            return [_plan_event({"summary": text(plan.get("content"), limits.TEXT_CHARS_MAX)})]
        if plan.get("type") == "file":
            return [_plan_event({"summary": text(plan.get("uri"), limits.URL_CHARS_MAX)})]
        return self._plan(plan)

    def _plan_removed(self, update: Json) -> Events:
        """Readers see one plan: another one, that is gone, they do not see any more."""
        removed = text(update.get("planId"), limits.ID_CHARS_MAX)
        if not removed or removed != self._plan_id:
            return []
        self._plan_id = ""
        return [_plan_event({"tasks": []})]

    def _commands(self, update: Json) -> Events:
        if not isinstance(update.get("availableCommands"), list):
            return []
        commands = []
        for one in items(update.get("availableCommands"))[:COMMANDS_MAX]:
            fields = obj(one)
            if name := text(fields.get("name"), limits.NAME_CHARS_MAX):
                about = text(fields.get("description"), _COMMAND_CHARS_MAX)
                commands.append({"name": name, "description": about})
        return [{"type": "session_status", "machine": "online", "commands": commands}]

    def _options(self, update: Json) -> Events:
        return _ready(self.options.learn(update))

    def _info(self, update: Json) -> Events:
        title = content.title_of(update.get("title"))
        return _ready({"title": title} if title else {})

    def _usage(self, update: Json) -> Events:
        cost = obj(update.get("cost"))
        amount = cost.get("amount")
        if isinstance(amount, int | float) and 0 <= amount < 1e9 and cost.get("currency") == "USD":
            self.cost_usd = float(amount)
        return []

    def _stop(self, update: Json) -> Events:
        self.stopped = update
        return []

    def _nothing(self, update: Json) -> Events:
        """Known, and nobody's news: what the person said is in the log already."""
        return []


def _ready(news: Json) -> Events:
    """What programs that follow the session may want to know of it."""
    ready = {"again": True, **news}
    return [{"type": "session_status", "machine": "online", "ready": ready}] if news else []


def _tasks(entries: Any) -> list[Json]:
    tasks = []
    for one in items(entries)[:PLAN_ENTRIES_MAX]:
        fields = obj(one)
        if title := text(fields.get("content"), limits.SKILL_DESCRIPTION_CHARS_MAX):
            task = {"title": title, "status": text(fields.get("status"), 40) or "pending"}
            if priority := text(fields.get("priority"), 40):
                task["priority"] = priority
            tasks.append(task)
    return tasks


def _plan_event(plan: Json) -> Json:
    tasks = plan.get("tasks", ())
    lines = [f"- [{_MARKS.get(one['status'], ' ')}] {one['title']}" for one in tasks]
    shown = "\n".join(lines) or plan.get("summary", "")
    return {"type": "plan", "plan": plan, "content": shown}


def _older_text(kind: str) -> Callable[[Json], Json]:
    def newer(fields: Json) -> Json:
        given = fields.get("text", fields.get("content"))
        return {"sessionUpdate": kind, "content": given}

    return newer


def _older_call(fields: Json) -> Json:
    return {
        "sessionUpdate": "tool_call",
        "toolCallId": fields.get("id", fields.get("toolCallId")),
        "name": fields.get("name"),
        "title": fields.get("title"),
        "rawInput": fields.get("input"),
        "status": "in_progress",
    }


def _older_result(fields: Json) -> Json:
    failed = fields.get("is_error", fields.get("isError")) is True
    return {
        "sessionUpdate": "tool_call_update",
        "toolCallId": fields.get("id", fields.get("toolCallId")),
        "status": "failed" if failed else "completed",
        "content": fields.get("content", fields.get("result")),
    }


_OLDER: dict[str, Callable[[Json], Json]] = {
    "session/agent_text": _older_text(_TEXT),
    "session/agent_thought": _older_text("agent_thought_chunk"),
    "session/tool_call": _older_call,
    "session/tool_result": _older_result,
    "session/turn_complete": lambda fields: {**fields, "sessionUpdate": "turn_complete"},
}
_HANDLERS: dict[str, Callable[[Translator, Json], Events]] = {
    _TEXT: Translator._text,
    "agent_thought_chunk": Translator._thought,
    "tool_call": Translator._tool,
    "tool_call_update": Translator._tool,
    "plan": Translator._plan,
    "plan_update": Translator._plan_update,
    "plan_removed": Translator._plan_removed,
    "available_commands_update": Translator._commands,
    "current_mode_update": Translator._options,
    "config_option_update": Translator._options,
    "session_info_update": Translator._info,
    "usage_update": Translator._usage,
    "turn_complete": Translator._stop,
    "user_message_chunk": Translator._nothing,
}
