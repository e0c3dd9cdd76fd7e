"""Two weeks of somebody's work, for the pictures of the page: real sessions on a real machine, with
a model that says what is written here."""

import textwrap
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from tests.support.model_server import ModelRequest, ModelServer, ToolUse, Turn
from tests.support.node import Talk, World

FIX = (
    "The test of prices fails since yesterday. Find out why, fix it, and show me what you changed."
)
PUSH = "Tag what we have as 1.4.0 and push it."
_MODELS = ("gpt-5.4-mini", "gpt-5.4")
_PRICES = """\
def total(items, rate):
    \"\"\"What the items cost, with tax.\"\"\"
    net = sum(price for _, price in items)
    return round(net + net * rate / 100)
"""
_TEST = """\
from prices import total

assert total([("tea", 4.20), ("milk", 1.10)], 7) == 5.67
print("1 passed")
"""
_ANSWER = """\
The test is right and the code was not: `round` without a number of places rounds to whole euros, so
**5.67 became 6**. It came in with yesterday's change to `prices.py`.

```python
return round(net + net * rate / 100, 2)
```

| items | before | now |
| --- | ---: | ---: |
| tea and milk | 6 | 5.67 |
| nothing | 0 | 0 |

Nothing else calls `total`. Both checks pass; I have not committed anything.
"""
_DAYS = (
    ("Summarise the issues of this week", 4, 61_000, 2_100),
    ("Which of our dependencies are out of date?", 3, 38_000, 1_400),
    ("Draft the release notes of 1.4", 5, 83_000, 5_200),
    ("Why is the nightly build slow?", 2, 120_000, 3_900),
    ("Translate the guide's first page into Chinese", 3, 44_000, 7_700),
)


def _call(name: str, **arguments: object) -> Turn:
    return Turn(
        tool_calls=[ToolUse(name=name, arguments=arguments)], tokens_in=9_400, tokens_out=180
    )


def _todos(*states: str) -> Turn:
    names = ("Run the test", "Find the cause", "Fix it and run the test again")
    todos = [{"content": name, "status": state} for name, state in zip(names, states, strict=True)]
    return _call("todo_write", todos=todos)


def _is(prompt: str, request: ModelRequest) -> bool:
    return request.prompt == prompt


async def tell(world: World, model: ModelServer, next_day: Callable[[], Awaitable[None]]) -> str:
    """All of it; the id of the session that is worth looking at. `next_day` passes one."""
    await _machines(world)
    await _two_weeks(world, model, next_day)
    await _group(world, model)
    await _question(world, model)
    return await _fix(world, model)


async def _machines(world: World) -> None:
    user = world.user
    await user.ok("PATCH", f"/machines/{world.node.machine_id}", {"name": "workshop"})
    other = await user.schedule()
    await user.ok("PATCH", f"/machines/{other['vm_id']}", {"name": "build server"})
    await user.ok("POST", f"/users/{user.id}/yeaft-agents", {"name": "laptop"})


async def _two_weeks(
    world: World, model: ModelServer, next_day: Callable[[], Awaitable[None]]
) -> None:
    for day in range(10):
        title, calls, tokens_in, tokens_out = _DAYS[day % len(_DAYS)]
        agent = {"model": _MODELS[day % len(_MODELS)]}
        async with await world.session(title=title, agent=agent) as talk:
            for number in range(calls):
                said = f"{title} ({number + 1})"
                spent = tokens_in * (3 + day % 4) // 4
                turn = Turn(text="Done.", tokens_in=spent, tokens_out=tokens_out)
                model.when(partial(_is, said), turn)
                await talk.ask(said)
        await next_day()


async def _group(world: World, model: ModelServer) -> None:
    said = "@all Is the new name of the command clear?"
    ids = []
    for name, prompt, answer in (
        ("Mei", "You write for newcomers.", "Yes. I would say `drain` in the first sentence, too."),
        (
            "Tom",
            "You look for what breaks.",
            "The name is. Its exit code when nothing drains is not.",
        ),
    ):
        body = {"name": name, "prompt": prompt, "machine_id": world.node.machine_id}
        made = await world.user.ok("POST", "/persons", {**body, "model": _MODELS[0]})
        ids.append(made["id"])
        model.when(partial(_asked, name, said), Turn(text=answer))
    group = await world.user.ok("POST", "/groups", {"name": "docs", "person_ids": ids})
    async with Talk(world.user, await world.user.session(machine_id=group["id"])) as talk:
        await talk.ask(said)


def _asked(name: str, said: str, request: ModelRequest) -> bool:
    return said in request.prompt and name in request.system


async def _question(world: World, model: ModelServer) -> None:
    push(model)
    agent = {"confirm": "dangerous", "model": _MODELS[1]}
    async with await world.session(agent=agent, title="Release 1.4.0") as talk:
        await talk.say(PUSH)
        await talk.until("approval_request")


def push(model: ModelServer) -> None:
    """What the model does when it is told to push."""
    command = "git tag -a v1.4.0 -m 'Release 1.4.0' && git push origin v1.4.0"
    model.when(partial(_is, PUSH), _call("bash", command=command))


async def _fix(world: World, model: ModelServer) -> str:
    fix(model, world.node.workspace)
    agent = {"confirm": "never", "model": _MODELS[1]}
    async with await world.session(agent=agent, title="The test of prices") as talk:
        await world.user.ok("GET", f"/sessions/{talk.id}/debug")  # from now on frames are recorded
        await talk.ask(FIX)
        return talk.id


def fix(model: ModelServer, folder: Path) -> None:
    """The files that are wrong, and what the model does when it is told to fix them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "prices.py").write_text(textwrap.dedent(_PRICES))
    (folder / "test_prices.py").write_text(textwrap.dedent(_TEST))
    steps = (
        _todos("in_progress", "pending", "pending"),
        _call("bash", command="python3 test_prices.py"),
        _call("read_file", path="prices.py"),
        _call(
            "edit_file",
            path="prices.py",
            old_text="net * rate / 100)",
            new_text="net * rate / 100, 2)",
        ),
        _call("bash", command="python3 test_prices.py"),
        _todos("completed", "completed", "completed"),
        Turn(text=_ANSWER, tokens_in=10_900, tokens_out=420),
    )
    model.when(partial(_is, FIX), *steps)
