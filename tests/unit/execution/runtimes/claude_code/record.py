"""Records what the real Claude Code prints, for the golden files of its translator.

    python -m tests.unit.execution.runtimes.claude_code.record

Names of this machine, ids and times are replaced, so that a file only changes with the program;
long texts and lists, which are the program's own, are cut.
"""

import asyncio
import json
import re
import tempfile
from pathlib import Path
from typing import Any

from tests.support.model_server import Failure, Gate, ModelServer, ToolUse, Turn
from tests.unit.execution.runtimes.claude_code.conftest import Talk, bash, opened, real_program
from tests.unit.execution.runtimes.claude_code.golden import FOLDER, events_of, written
from trunkline.execution.session import ipc

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TASK = re.compile(r"\b[ab][0-9a-z]{16}\b|\b0[a-z0-9]{8}-[0-9a-f]{8}\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_COUNTED = re.compile(r'("(?:[a-z_]*_ms|end_time|estimated_tokens|total_tokens)": ?)\d+')
_TEMPORARY = re.compile(r"/tmp/[^\"\\ ]*")


async def text(talk: Talk, model: ModelServer) -> None:
    model.script(Turn(thinking="First\nthen", text="Hello dear world"))
    await talk.host()
    await talk.ask("Hi")


async def tools(talk: Talk, model: ModelServer) -> None:
    write = {"file_path": str(talk.workspace / "a.txt"), "content": "hi\n"}
    bad = ToolUse(name="Read", arguments={"file_path": str(talk.workspace / "none.txt")})
    model.script(
        Turn(text="I write", tool_calls=[ToolUse(name="Write", arguments=write)]),
        Turn(tool_calls=[bad]),
        bash("cat a.txt"),
        Turn(text="Done"),
    )
    await talk.host()
    await talk.ask("write")


async def denied(talk: Talk, model: ModelServer) -> None:
    model.script(bash("touch never"), Turn(text="As you like"))
    await talk.host(agent_config={"confirm": "dangerous"})
    turn = talk.say("make it")
    talk.reply(await talk.question(), confirmed=False, answer="not today")
    await talk.end(turn)


async def interrupted(talk: Talk, model: ModelServer) -> None:
    model.script(Turn(chunks=["One ", Gate(), "two"]))
    await talk.host()
    turn = talk.say("count")
    await talk.event("text_chunk")
    talk.send(ipc.Cancel())
    await talk.end(turn)


async def planned(talk: Talk, model: ModelServer) -> None:
    bake = ToolUse(name="TaskCreate", arguments={"subject": "Bake", "description": "a cake"})
    eat = ToolUse(name="TaskCreate", arguments={"subject": "Eat", "description": "the cake"})
    begin = ToolUse(name="TaskUpdate", arguments={"taskId": "1", "status": "completed"})
    drop = ToolUse(name="TaskUpdate", arguments={"taskId": "2", "status": "deleted"})
    model.script(Turn(tool_calls=[bake, eat]), Turn(tool_calls=[begin]), Turn(tool_calls=[drop]))
    model.script(Turn(text="Baked"))
    await talk.host()
    await talk.ask("bake")


async def delegated(talk: Talk, model: ModelServer) -> None:
    task = {"description": "look", "prompt": "find the cat", "subagent_type": "general-purpose"}
    model.when(
        lambda one: "find the cat" in one.prompt and "delegate" not in one.prompt,
        Turn(text="On the roof"),
    )
    model.when(lambda one: "task-notification" in json.dumps(one.messages[-1]), Turn(text="Roof"))
    model.script(Turn(tool_calls=[ToolUse(name="Agent", arguments=task)]), Turn(text="Looking"))
    await talk.host()
    await talk.ask("delegate")


async def failed(talk: Talk, model: ModelServer) -> None:
    talk.env["CLAUDE_CODE_MAX_RETRIES"] = "1"
    model.otherwise(lambda _: Turn(failure=Failure(kind="overloaded")))
    await talk.host()
    await talk.ask("Hi")


async def compacted(talk: Talk, model: ModelServer) -> None:
    model.script(Turn(text="One"), Turn(text="<summary>they counted</summary>"))
    await talk.host()
    await talk.ask("count")
    await talk.ask("/compact")


SCENARIOS = (text, tools, denied, interrupted, planned, delegated, failed, compacted)


def cut(value: Any) -> Any:
    match value:
        case str():
            return value if len(value) <= 100 else value[:40] + "…"
        case list() if len(value) > 4:
            return [cut(one) for one in value[:2]]
        case list():
            return [cut(one) for one in value]
        case dict():
            return {name: cut(one) for name, one in value.items()}
    return value


def scrubbed(line: str, talk: Talk) -> str:
    """Without what is only true here and now."""
    for here, there in ((str(talk.workspace), "/srv/work"), (talk.env["HOME"], "/srv/user")):
        line = line.replace(here, there)
    line = _TEMPORARY.sub("/var/claude", line)
    line = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:1", line)
    return _COUNTED.sub(r"\g<1>1", _TIME.sub("2027-01-15T08:00:00.000Z", line))


async def main() -> None:
    for scenario in SCENARIOS:
        with tempfile.TemporaryDirectory(prefix="r") as folder:
            async with ModelServer() as model, opened(Path(folder), model) as talk:
                talk.program = real_program()
                await scenario(talk, model)
                lines = [
                    scrubbed(json.dumps(cut(one), ensure_ascii=False), talk) for one in talk.lines()
                ]
        names: dict[str, str] = {}

        def named(found: re.Match[str], names: dict[str, str] = names) -> str:
            return names.setdefault(found[0], f"00000000-0000-4000-8000-{len(names):012d}")

        kept = [_TASK.sub("task-1", _UUID.sub(named, line)) for line in lines]
        name = scenario.__name__
        (FOLDER / f"{name}.jsonl").write_text("\n".join(kept) + "\n")
        (FOLDER / f"{name}.events.json").write_text(written(events_of(kept)))
        print(name, len(kept))


if __name__ == "__main__":
    asyncio.run(main())
