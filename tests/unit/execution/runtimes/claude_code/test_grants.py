"""What a person's yes to Claude Code covers, and for how long; no more than was shown."""

from tests.unit.execution.runtimes.claude_code.conftest import Stage, Talk, answer
from trunkline.execution.session import ipc

PUBLISH = {
    "subtype": "can_use_tool",
    "tool_name": "Bash",
    "input": {"command": "npm publish"},
    "permission_suggestions": [
        {
            "type": "addRules",
            "behavior": "allow",
            "rules": [{"toolName": "Bash", "ruleContent": "npm publish"}],
            "destination": "localSettings",
        }
    ],
}


async def test_what_is_too_long_to_be_shown_is_not_allowed(talk: Talk, stage: Stage) -> None:
    asked = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "x" * 300_000}}
    stage.plays([["ask", asked], answer("done")])
    await talk.host(agent_config={"confirm": "dangerous"})
    await talk.ask("hello")
    assert stage.answers()[0]["behavior"] == "deny"
    assert talk.of_type("approval_request") == []


async def test_only_what_was_shown_is_granted_for_the_session(talk: Talk, stage: Stage) -> None:
    rule = {"toolName": "Bash", "ruleContent": "npm test *"}
    suggestions = [
        {"type": "addRules", "behavior": "allow", "rules": [rule], "destination": "userSettings"},
        {"type": "addRules", "behavior": "deny", "rules": [rule], "destination": "session"},
        {"type": "setMode", "mode": "bypassPermissions", "destination": "session"},
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
        {"type": "addDirectories", "directories": ["/"], "destination": "session"},
    ]
    asked = {
        "subtype": "can_use_tool",
        "tool_name": "Bash",
        "input": {"command": "npm test a"},
        "permission_suggestions": suggestions,
    }
    stage.plays([["ask", asked], answer("done")])
    await talk.host(agent_config={"confirm": "dangerous"})
    turn = talk.say("hello")
    question = await talk.question()
    assert "Bash(npm test *)" in question["message"]
    talk.reply(question, scope="session")
    await talk.end(turn)
    [said] = stage.answers()
    [granted] = said["updatedPermissions"]
    assert (granted["rules"], granted["destination"]) == ([rule], "session")


async def test_a_yes_for_always_is_a_rule_and_is_asked_about_again_when_that_is_taken_back(
    talk: Talk, stage: Stage
) -> None:
    stage.plays(*([["ask", PUBLISH], answer("done")] for _ in range(3)))
    await talk.host(agent_config={"confirm": "dangerous"})
    turn = talk.say("hello")
    question = await talk.question()
    assert question["rule"] == "bash(npm publish)"
    talk.reply(question, scope="always")
    await talk.end(turn)
    await talk.ask("again")
    talk.send(ipc.ConfigUpdate(data={"rules": []}))
    turn = talk.say("and again")
    talk.reply(await talk.question(1), confirmed=False)
    await talk.end(turn)
    assert [one["behavior"] for one in stage.answers()] == ["allow", "allow", "deny"]
    assert not any("updatedPermissions" in one for one in stage.answers())


async def test_a_rule_that_comes_later_denies_what_was_allowed_for_the_session(
    talk: Talk, stage: Stage
) -> None:
    called = {"tool_name": "Bash", "tool_input": PUBLISH["input"]}
    hook = ["ask", {"subtype": "hook_callback", "input": called}]
    stage.plays([["ask", PUBLISH], answer("done")], [hook, ["ask", PUBLISH], answer("done")])
    await talk.host(agent_config={"confirm": "dangerous"})
    turn = talk.say("hello")
    talk.reply(await talk.question(), scope="session")
    await talk.end(turn)
    rules = [{"effect": "deny", "rule": "bash(npm *)", "level": "user"}]
    talk.send(ipc.ConfigUpdate(data={"rules": rules}))
    await talk.ask("again")
    _, hooked, asked = stage.answers()
    assert hooked["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert asked["behavior"] == "deny"
    assert len(talk.of_type("approval_request")) == 1


async def test_no_rule_is_granted_that_was_not_shown(talk: Talk, stage: Stage) -> None:
    short = [{"toolName": "Bash", "ruleContent": f"{'a' * 100} {n} *"} for n in range(100)]
    long = [{"toolName": "Bash", "ruleContent": "x" * 3_000}, {"ruleContent": "*"}, "Bash"]
    rules = {"type": "addRules", "behavior": "allow", "rules": [*long, *short]}
    asked = {
        "subtype": "can_use_tool",
        "tool_name": "Bash",
        "input": {"command": "npm test a"},
        "permission_suggestions": [rules, rules],
    }
    stage.plays([["ask", asked], answer("done")])
    await talk.host(agent_config={"confirm": "dangerous"})
    turn = talk.say("hello")
    question = await talk.question()
    talk.reply(question, scope="session")
    await talk.end(turn)
    [said] = stage.answers()
    granted = [rule for one in said["updatedPermissions"] for rule in one["rules"]]
    assert granted
    shown = [f"{rule['toolName']}({rule['ruleContent']})" for rule in granted]
    assert all(rule in question["message"] for rule in shown)
