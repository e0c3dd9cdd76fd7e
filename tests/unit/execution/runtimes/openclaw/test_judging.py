"""What rules and modes say of OpenClaw's own tools."""

from typing import Any

import pytest

from trunkline.execution.errors import RequestFailed
from trunkline.execution.runtimes.openclaw.judging import judged

Json = dict[str, Any]
WRITE = ("write", {"path": "notes.md", "content": "x"})
READ = ("read", {"path": "notes.md"})
RUN = ("exec", {"command": "make"})
PATCH = ("apply_patch", {"input": "*** Begin Patch"})
UNKNOWN: tuple[str, Json] = ("dance", {})
WATCH = ("process", {"action": "log"})
TYPE = ("process", {"action": "write", "data": "y"})


def rule(effect: str, text: str) -> Json:
    return {"effect": effect, "rule": text, "level": "user"}


async def outcome(call: tuple[str, Json], **more: Any) -> Json:
    tool, given = call
    asked = {"tool_name": tool, "tool_input": given, "workspace": "/work", **more}
    return await judged(asked, None)


@pytest.mark.parametrize(
    ("config", "free", "asked", "refused"),
    [
        ({}, [WRITE, READ, RUN, PATCH, UNKNOWN, TYPE], [], []),
        ({"confirm": "dangerous"}, [READ, WATCH], [WRITE, RUN, PATCH, UNKNOWN, TYPE], []),
        ({"confirm": "always"}, [], [WRITE, READ, RUN, PATCH, UNKNOWN, WATCH], []),
        ({"permission_mode": "plan"}, [READ, WATCH], [], [WRITE, RUN, PATCH, UNKNOWN, TYPE]),
        ({"permission_mode": "ask"}, [READ], [WRITE, RUN, PATCH, UNKNOWN], []),
        ({"permission_mode": "accept_edits"}, [READ, WRITE], [RUN, PATCH, UNKNOWN], []),
        # There is no fence around its gateway.
        ({"permission_mode": "free"}, [READ], [WRITE, RUN], []),
    ],
    ids=str,
)
async def test_modes_hold_for_every_tool_of_its_own(
    config: Json,
    free: list[tuple[str, Json]],
    asked: list[tuple[str, Json]],
    refused: list[tuple[str, Json]],
) -> None:
    for wanted, calls in (("run", free), ("ask", asked), ("refuse", refused)):
        for call in calls:
            assert (await outcome(call, config=config))["outcome"] == wanted, call


async def test_rules_hold_by_the_names_that_every_runtime_has() -> None:
    rules = [
        rule("deny", "bash(rm *)"),
        rule("ask", "edit_file(secret/*)"),
        rule("allow", "bash(ls)"),
    ]
    careful = {"confirm": "dangerous"}
    denied = await outcome(("exec", {"command": "rm -rf /"}), rules=rules)
    assert (denied["outcome"], "bash(rm *)" in denied["why"]) == ("refuse", True)
    assert (await outcome(("write", {"path": "secret/a"}), rules=rules))["outcome"] == "ask"
    patched = await outcome(PATCH, rules=rules, paths=["secret/a"])
    assert patched["outcome"] == "ask"
    assert (await outcome(("exec", {"command": "ls"}), rules=rules, config=careful)) == {
        "outcome": "run",
        "why": "",
    }


async def test_what_always_would_mean_is_offered_with_the_question() -> None:
    asked = await outcome(("exec", {"command": "make test"}), config={"confirm": "dangerous"})
    assert asked["rule"] == "bash(make test)"


async def test_a_tool_of_ours_is_judged_by_what_its_bridge_knows_of_it() -> None:
    careful = {"confirm": "dangerous"}
    for changes, wanted in ((True, "ask"), (False, "run")):
        found = await outcome(("mcp__shop__buy", {}), config=careful, changes=changes)
        assert found["outcome"] == wanted


@pytest.mark.parametrize("fields", [{"workspace": ""}, {"tool_name": 7}, {"rules": "none"}])
async def test_what_makes_no_sense_is_refused(fields: Json) -> None:
    with pytest.raises(RequestFailed):
        await judged({"tool_name": "x", "tool_input": {}, "workspace": "/w", **fields}, None)
