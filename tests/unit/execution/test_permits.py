"""A call as rules see it on a machine: where paths lead, which host is meant, and what a program of
others may do by them."""

import asyncio
from pathlib import Path

import pytest

from trunkline.execution.json_object import Json
from trunkline.execution.orchestrator.settings import Settings
from trunkline.execution.permits import Permits, call_of, read_by
from trunkline.execution.runtimes.hosted.turn import Permission, Turn
from trunkline.execution.session import ipc
from trunkline.permissions.decision import decide, guarded
from trunkline.permissions.judging import Danger, judge
from trunkline.permissions.modes import care_of


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/a.py", "allow"),
        ("./src/../src/a.py", "allow"),
        ("src/../b.py", None),
        ("src/../../b.py", None),
        ("src/out/passwd", None),
        ("src/dangling", None),
        ("inward/a.py", "allow"),
        ("src/a\0b", None),
        ("src/" + "x" * 10_000, None),
        ("src/loop/a.py", None),
        ("", None),
    ],
)
def test_a_path_is_judged_by_where_it_leads(
    tmp_path: Path, path: str, expected: str | None
) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "src").mkdir(parents=True)
    (workspace / "src" / "out").symlink_to("/etc")
    (workspace / "src" / "dangling").symlink_to("../../elsewhere")
    (workspace / "src" / "loop").symlink_to("loop")
    (workspace / "inward").symlink_to("src")
    rules = Permits([{"effect": "allow", "rule": "edit_file(src/**)"}]).rules
    found = decide(rules, call_of("write_file", {"path": path}, workspace))
    assert (found.effect if found else None) == expected


def test_a_denied_file_is_denied_through_a_link_and_by_its_whole_path(tmp_path: Path) -> None:
    (tmp_path / "innocent").symlink_to(".env")
    rules = Permits([{"effect": "deny", "rule": "read_file(.env)"}]).rules
    for path in ("innocent", str(tmp_path / ".env"), "x/../.ENV"):
        found = decide(rules, call_of("read_file", {"path": path}, tmp_path))
        assert found is not None
        assert found.effect == "deny"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat .env", "deny"),
        ("cat x/../.ENV", "deny"),
        ("cat < .env", "deny"),
        ("cat innocent", "deny"),
        ("cd src && cat .env", "deny"),
        ("bash -c 'cat .env'", "deny"),
        ("wc --files=.env", "deny"),
        ("cat secret/key", "deny"),
        ("ls secret", "deny"),
        ("cd secret && cat key", "deny"),
        ("rg KEY", "ask"),
        ("grep -rn KEY .", "ask"),
        ("git --no-pager diff", "ask"),
        ("git log -p | head", "ask"),
        ("git status --short", None),
        ("grep KEY a.py", None),
        ("ls -la | wc -l", None),
        ("cat a\0b", None),
    ],
)
def test_a_command_that_reads_is_held_to_the_rules_for_files(
    tmp_path: Path, command: str, expected: str | None
) -> None:
    (tmp_path / "innocent").symlink_to(".env")
    written = ("read_file(.env)", "read_file(secret/**)")
    rules = Permits([{"effect": "deny", "rule": one} for one in written]).rules
    found = guarded(rules, read_by(command, tmp_path, is_all=True))
    assert (found.effect if found else None) == expected


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Example.ORG./x", "example.org"),
        ("https://b\u00fccher.example", "xn--bcher-kva.example"),
        ("http://[::1]:8080/", "::1"),
        ("https://example.org@evil.com", None),
        ("https://", None),
        ("nonsense", None),
        (7, None),
        (None, None),
    ],
)
def test_a_host_is_read_as_what_fetches_it_reads_it(url: object, host: str | None) -> None:
    [subject] = call_of("web_fetch", {"url": url}, Path()).subjects
    assert subject.value == host


def test_free_runs_inside_a_fence_and_asks_outside_of_one() -> None:
    call = call_of("bash", {"command": "make"}, Path())
    outcomes = [
        judge(call, Danger(changes=True), [], care_of("free", "always", fenced=fenced)).outcome
        for fenced in (True, False)
    ]
    assert outcomes == ["run", "ask"]


class _Nobody:
    """A line on which nothing is reported."""

    def fire_and_forget(self, method: str, **params: object) -> None:
        return


async def permitted(
    rules: list[Json], tool: str, given: Json, **settings: object
) -> tuple[Permission | None, list[Json]]:
    """What comes of a program's question without a person; None: one is asked."""
    asked: list[Json] = []

    async def sleep(_: float) -> None:
        await asyncio.Event().wait()

    turn = Turn(
        ipc.UserMessageData(message="go", turn_id="t"),
        settings=Settings().changed(dict(settings))[0],
        permits=Permits(rules),
        workspace=Path("/place"),
        send=asked.append,
        control=_Nobody(),  # type: ignore[arg-type]
        clock=lambda: 0.0,
        monotonic=lambda: 0.0,
        sleep=sleep,
    )
    question = asyncio.ensure_future(turn.permit(tool_name=tool, tool_input=given))
    for _ in range(5):
        await asyncio.sleep(0)
    if question.done():
        return question.result(), asked
    question.cancel()
    return None, asked


RM = {"effect": "deny", "rule": "bash(rm *)", "level": "org"}


async def test_a_program_of_others_is_held_to_the_same_rules() -> None:
    denied, _ = await permitted([RM], "Bash", {"command": "sudo rm x"}, confirm="never")
    assert denied is not None
    assert (denied.allowed, denied.reason) == (
        False,
        "not done: a rule of the org denies it: bash(rm *)",
    )
    allowed, _ = await permitted([RM], "Bash", {"command": "make"}, confirm="never")
    assert allowed is not None
    assert allowed.allowed
    ask = {"effect": "ask", "rule": "bash(git push *)"}
    nobody, asked = await permitted([ask], "execute", {"command": ["git", "push"]}, confirm="never")
    assert nobody is None
    assert "a rule of the user asks first" in asked[0]["message"]
    nobody, asked = await permitted([], "Bash", {"command": "npm run x y"}, confirm="dangerous")
    assert nobody is None
    assert asked[0]["rule"] == "bash(npm run x *)"


async def test_the_modes_hold_for_a_program_of_others() -> None:
    edit = {"file_path": "/place/a.py"}
    planned, _ = await permitted([], "Edit", edit, permission_mode="plan")
    assert planned is not None
    assert not planned.allowed
    accepted, _ = await permitted([], "Edit", edit, permission_mode="accept_edits")
    assert accepted is not None
    assert accepted.allowed
    nobody, _ = await permitted([], "Edit", {"file_path": "/etc/x"}, permission_mode="accept_edits")
    assert nobody is None


def test_a_program_asks_where_rules_are_to_hold() -> None:
    assert Permits([RM]).asks(Settings()) == "dangerous"
    assert Permits([{"effect": "allow", "rule": "bash"}]).asks(Settings()) == "never"


@pytest.mark.parametrize("rules", [None, 7, "bash", {"effect": "deny"}])
def test_rules_that_are_none_leave_those_of_before(rules: object) -> None:
    permits = Permits([RM])
    assert permits.change(rules)
    assert len(permits.rules) == 1
