"""Lines of Claude Code as session events (docs/protocols/events.md). Pure.

One `Translator` per conversation remembers what was streamed already and which tools run. The
lines themselves travel beside the events, to clients that speak that format; see `program`.
"""

from typing import Any

from trunkline import limits
from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.claude_code.output import Line, count_of, text_of
from trunkline.execution.runtimes.claude_code.plan import Plan
from trunkline.execution.texts import Excerpt, clipped, readable, shortened

PROVIDER = "claude-code"
TOOLS_REMEMBERED_MAX = 1_000
_COMMANDS_MAX, _ABOUT_CHARS_MAX = 500, 1_000
_STREAMS_MAX = 100  # the conversation and its sub-agents
_NO_MODEL = "<synthetic>"
_STREAMED = {"text_delta": "text", "thinking_delta": "thinking"}

Event = tuple[str, Json]
"""A type and the other fields."""


class Translator:
    def __init__(self) -> None:
        self.session_id = ""
        """The program's own name of the conversation."""
        self.model = ""
        self.error = ""
        """The kind of error that the program named last in this turn."""
        self.calls: dict[str, int] = {}
        """How often each model was asked in this turn."""
        self._streams: dict[str, _Stream] = {}
        self._tools: dict[str, tuple[str, Json]] = {}
        self._agents: dict[str, str] = {}
        self._plan = Plan()
        self._ready: Json = {}

    def begin(self) -> None:
        """A turn begins."""
        self.error = ""
        self.calls = {}
        self._streams = {}

    def events(self, line: Line) -> list[Event]:
        """What the line says, for readers of any protocol; often nothing."""
        if isinstance(line.session_id, str) and line.session_id:
            self.session_id = line.session_id[: limits.ID_CHARS_MAX]
        match line.type:
            case "stream_event":
                made = self._piece(line)
            case "assistant":
                made = self._said(line)
            case "user":
                made = self._given_back(line)
            case "system":
                made = self._system(line)
            case _:
                made = []
        agent = self._agent(line)
        if not agent:
            return made
        of_agent = {"agent": agent, "parent_tool_call_id": text_of(line.parent_tool_use_id)}
        return [(kind, {**fields, **of_agent}) for kind, fields in made]

    def _agent(self, line: Line) -> str:
        parent = text_of(line.parent_tool_use_id)
        if not parent:
            return ""
        named = text_of(line.subagent_type) or self._agents.get(parent) or "agent"
        return shortened(named, limits.NAME_CHARS_MAX)

    def _stream(self, line: Line) -> "_Stream":
        parent = text_of(line.parent_tool_use_id)
        if parent not in self._streams and len(self._streams) >= _STREAMS_MAX:
            self._streams.pop(next(iter(self._streams)))
        return self._streams.setdefault(parent, _Stream())

    def _piece(self, line: Line) -> list[Event]:
        event = line.event if isinstance(line.event, dict) else {}
        stream = self._stream(line)
        match event.get("type"):
            case "message_start":
                message = event.get("message")
                message = message if isinstance(message, dict) else {}
                self._asked(stream, message)
            case "content_block_start":
                stream.next_block()
            case "content_block_delta":
                delta = event.get("delta")
                delta = delta if isinstance(delta, dict) else {}
                kind = _STREAMED.get(text_of(delta.get("type")), "")
                said = text_of(delta.get(kind))
                if said:
                    stream.streamed(kind, said)
                    return [_spoken(kind, said)]
        return []

    def _asked(self, stream: "_Stream", message: Json) -> None:
        """A model was asked once more."""
        stream.begin(text_of(message.get("id")))
        model = shortened(text_of(message.get("model")), limits.NAME_CHARS_MAX)
        if model != _NO_MODEL:
            self.calls[model] = self.calls.get(model, 0) + 1

    def _said(self, line: Line) -> list[Event]:
        if line.is_api_error_message is True or isinstance(line.error, str):
            self.error = text_of(line.error) or self.error
            return []  # the turn's end says it
        message = line.message if isinstance(line.message, dict) else {}
        stream = self._stream(line)
        if stream.message != text_of(message.get("id")):
            self._asked(stream, message)  # it comes whole, as sub-agents' messages do
        made: list[Event] = []
        for block in line.blocks:
            kind = text_of(block.get("type"))
            if kind in ("text", "thinking"):
                said = stream.rest(kind, text_of(block.get(kind)))
                made += [_spoken(kind, said)] if said else []
            elif kind.endswith("tool_use"):
                made += self._called(block)
            elif kind.endswith("tool_result"):
                made += self._returned(block, None)
        return made

    def _called(self, block: Json) -> list[Event]:
        call_id, name = text_of(block.get("id")), text_of(block.get("name")) or "tool"
        name = shortened(name, limits.NAME_CHARS_MAX)
        given = block.get("input")
        given = given if isinstance(given, dict) else {}
        if len(self._tools) >= TOOLS_REMEMBERED_MAX:
            self._tools.pop(next(iter(self._tools)))
        self._tools[call_id] = (name, given)
        if name in ("Agent", "Task"):
            self._agents = dict(list(self._agents.items())[-_STREAMS_MAX:])
            self._agents[call_id] = text_of(given.get("subagent_type"))
        fields = {"tool_call_id": call_id, "tool_name": name, "tool_input": clipped(given)}
        skill = _skill(name, given)
        if not skill:
            return [("tool_call_start", fields)]
        begun = {"skill_name": skill, "tool_call_id": call_id, "arguments": clipped(given)}
        return [("tool_call_start", fields), ("skill_call_start", begun)]

    def _given_back(self, line: Line) -> list[Event]:
        results = [one for one in line.blocks if text_of(one.get("type")).endswith("tool_result")]
        # What the program says of a result beside it is of that one alone.
        beside = line.tool_use_result if len(results) == 1 else None
        return [event for block in results for event in self._returned(block, beside)]

    def _returned(self, block: Json, beside: Any) -> list[Event]:
        call_id = text_of(block.get("tool_use_id"))
        name, given = self._tools.pop(call_id, ("tool", {}))
        is_error = block.get("is_error") is True
        result = _shown(block.get("content"))
        fields: Json = {
            "tool_call_id": call_id,
            "tool_name": name,
            "tool_input": clipped(given),
            "result": result,
            "is_error": is_error,
        }
        made: list[Event] = []
        if skill := _skill(name, given):
            done = {"skill_name": skill, "tool_call_id": call_id, "result": result}
            made.append(("skill_call_complete", done))
        made.append(("tool_call_complete", fields))
        if is_error:
            return made
        if (planned := self._plan.after(name, given, beside)) is not None:
            made.append(("plan", planned))
        if (file := _created(beside)) is not None:
            made.append(("file_created", file))
        return made

    def _begun(self, line: Line) -> list[Event]:
        """Said before each turn; told when it is something new."""
        self.model = shortened(text_of(line.model), limits.NAME_CHARS_MAX)
        ready: Json = {
            "session_id": self.session_id,
            "model_info": {"model": self.model},
            "provider": PROVIDER,
            "work_dir": shortened(text_of(line.cwd), limits.FILE_PATH_CHARS_MAX),
            "again": True,
        }
        if ready == self._ready:
            return []
        self._ready = ready
        return [("session_status", {"machine": "online", "ready": ready})]

    def _system(self, line: Line) -> list[Event]:
        match line.subtype:
            case "init":
                return self._begun(line)
            case "api_retry":
                why = text_of(line.error).replace("_", " ") or "no answer"
                status = f" ({line.error_status})" if count_of(line.error_status) else ""
                pause_s = count_of(line.retry_delay_ms) / 1000
                said = f"The model's provider: {why}{status}. Asking again in {pause_s:.1f} s."
                return [("thinking", {"content": shortened(said, 500), "stage": "model"})]
            case "compact_boundary":
                said = "The conversation has become long: what was said before is summarized."
                return [("thinking", {"content": said, "stage": "model"})]
        return []


class _Stream:
    """The message that is being streamed: how much of its open block was passed on already. The
    whole block comes behind its pieces."""

    def __init__(self) -> None:
        self.message = ""
        self._chars = {"text": 0, "thinking": 0}

    def begin(self, message_id: str) -> None:
        self.message = message_id
        self.next_block()

    def next_block(self) -> None:
        self._chars = {"text": 0, "thinking": 0}

    def streamed(self, kind: str, said: str) -> None:
        self._chars[kind] += len(said)

    def rest(self, kind: str, text: str) -> str:
        """What of a whole block was not passed on yet."""
        known, self._chars[kind] = self._chars[kind], 0
        return text[known:]


def _spoken(kind: str, said: str) -> Event:
    said = readable(said)
    if kind == "text":
        return "text_chunk", {"content": said}
    return "thinking", {"content": said, "stage": "reasoning"}


def _skill(tool: str, given: Json) -> str:
    named = text_of(given.get("skill") or given.get("command")) if tool == "Skill" else ""
    return shortened(named, limits.NAME_CHARS_MAX)


def _created(beside: Any) -> Json | None:
    """Of the program's own file tool: a file that was not there before."""
    if not isinstance(beside, dict) or beside.get("type") != "create":
        return None
    path, content = text_of(beside.get("filePath")), beside.get("content")
    if not path or not isinstance(content, str):
        return None
    return {
        "path": shortened(path, limits.FILE_PATH_CHARS_MAX),
        "size": len(content.encode(errors="replace")),
    }


def _shown(content: Any) -> str:
    """A tool's result as text; pictures are named, not shown."""
    text = Excerpt(limits.TOOL_RESULT_CHARS_MAX)
    blocks = content if isinstance(content, list) else [content]
    for number, block in enumerate(blocks):
        said = block if isinstance(block, str) else ""
        if isinstance(block, dict):
            said = text_of(block.get("text")) or f"[{shortened(text_of(block.get('type')), 40)}]"
        text.add(("\n" if number else "") + readable(said))
    return str(text)


def commands_of(given: Any) -> list[Json]:
    """The slash commands that the program says it has."""
    found: list[Json] = []
    for one in (given if isinstance(given, list) else [])[:_COMMANDS_MAX]:
        name = text_of(one.get("name")).lstrip("/") if isinstance(one, dict) else ""
        if 0 < len(name) <= limits.NAME_CHARS_MAX:
            about = shortened(text_of(one.get("description")), _ABOUT_CHARS_MAX)
            found.append({"name": name, "description": readable(about)})
    return found
