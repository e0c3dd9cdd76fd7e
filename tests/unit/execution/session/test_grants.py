"""More access for one command: what a person allowed, and nothing that a session makes of it."""

import asyncio
import os
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.eventually import until
from trunkline.execution.errors import RequestFailed
from trunkline.execution.fence import probe
from trunkline.execution.fence.access import Access
from trunkline.execution.fence.machine import Fence
from trunkline.execution.home import Home
from trunkline.execution.session import ipc
from trunkline.execution.session.fencing import no_fence, wider
from trunkline.execution.session.grants import OPEN_MAX, Grants, Wider

FOUND = probe.look()
FENCED = pytest.mark.skipif(not FOUND.files, reason="no fence here")
REFUSED = "Permission denied|No such file or directory|Read-only file system"
TOOL = "bash_with_access"
INPUT = {"command": "cat /x", "why": "it is needed", "read": ["/x"]}
RAN = "it would have been run"


def stopped(_access: Access) -> Wider:
    """Whoever comes so far was let through."""
    raise RequestFailed("STOPPED", RAN)


@pytest.fixture
def grants() -> Grants:
    return Grants(stopped)


def ask(grants: Grants, tool_input: Any, request_id: str = "q-1", **more: Any) -> None:
    event = {"type": "approval_request", "tool_name": TOOL, "request_id": request_id}
    grants.saw(msgspec.json.encode({**event, "tool_input": tool_input, **more}).decode())


def say(grants: Grants, confirmed: Any = True, request_id: str = "q-1") -> None:
    grants.answered({"request_id": request_id, "confirmed": confirmed})


async def run(grants: Grants, tool_input: Any, request_id: str = "q-1") -> Any:
    wanted = {"request_id": request_id, "tool_input": tool_input, "timeout_s": 60}
    return await grants.run(wanted, lambda _text: None)


async def code_of(grants: Grants, tool_input: Any, request_id: str = "q-1") -> str:
    with pytest.raises(RequestFailed) as refused:
        await run(grants, tool_input, request_id)
    return refused.value.code


async def test_what_was_shown_and_allowed_is_run_once(grants: Grants) -> None:
    ask(grants, INPUT)
    say(grants)
    assert await code_of(grants, dict(reversed(INPUT.items()))) == "STOPPED"
    assert await code_of(grants, INPUT) == "NOT_GRANTED"


@pytest.mark.parametrize(
    "changed",
    [
        {"command": "cat /x; rm -rf ~"},
        {"read": ["/x", "/y"]},
        {"write": ["/x"]},
        {"network": True},
        {"sockets": ["/x.sock"]},
        {"why": "another reason"},
    ],
)
async def test_a_yes_is_for_that_command_with_that_access(
    grants: Grants, changed: dict[str, Any]
) -> None:
    ask(grants, INPUT)
    say(grants)
    assert await code_of(grants, {**INPUT, **changed}) == "NOT_GRANTED"
    assert await code_of(grants, INPUT) == "NOT_GRANTED"  # it was used up by the attempt


async def test_what_nobody_allowed_is_not_run(grants: Grants) -> None:
    assert await code_of(grants, INPUT) == "NOT_GRANTED"
    ask(grants, INPUT)
    assert await code_of(grants, INPUT) == "NOT_GRANTED"
    ask(grants, INPUT)
    say(grants, confirmed=False)
    assert await code_of(grants, INPUT) == "NOT_GRANTED"
    ask(grants, INPUT)
    say(grants, confirmed="yes")
    assert await code_of(grants, INPUT) == "NOT_GRANTED"
    ask(grants, INPUT)
    say(grants, request_id="q-2")
    assert await code_of(grants, INPUT) == "NOT_GRANTED"


async def test_a_yes_before_the_question_or_after_another_one_is_for_nothing(
    grants: Grants,
) -> None:
    say(grants)
    ask(grants, INPUT)
    assert await code_of(grants, INPUT) == "NOT_GRANTED"
    ask(grants, {**INPUT, "command": "ls"})
    say(grants)
    ask(grants, INPUT)  # the same question, shown again with something else
    assert await code_of(grants, INPUT) == "NOT_GRANTED"


async def test_an_id_grants_nothing_but_what_was_asked_first_under_it(grants: Grants) -> None:
    harmless = {**INPUT, "command": "ls"}
    ask(grants, harmless)  # which is what people see, and say yes to
    ask(grants, INPUT)
    say(grants)
    assert await code_of(grants, INPUT) == "NOT_GRANTED"
    ask(grants, harmless, "q-2")
    say(grants, request_id="q-2")
    assert await code_of(grants, harmless, "q-2") == "STOPPED"
    ask(grants, INPUT, "q-2")
    say(grants, request_id="q-2")  # as it is told again to whoever asks again
    assert await code_of(grants, INPUT, "q-2") == "NOT_GRANTED"
    ask(grants, {}, "q-3", tool_name="ask_user")
    say(grants, request_id="q-3")
    ask(grants, INPUT, "q-3")
    say(grants, request_id="q-3")
    assert await code_of(grants, INPUT, "q-3") == "NOT_GRANTED"


async def test_a_question_of_another_tool_or_event_grants_nothing(grants: Grants) -> None:
    ask(grants, INPUT, tool_name="bash")
    say(grants)
    assert await code_of(grants, INPUT) == "NOT_GRANTED"
    ask(grants, INPUT, "q-2", type="tool_call_start", content="approval_request")
    say(grants, request_id="q-2")
    assert await code_of(grants, INPUT, "q-2") == "NOT_GRANTED"
    grants.saw(f'"{TOOL}" approval_request {{')


async def test_few_questions_are_remembered(grants: Grants) -> None:
    for number in range(OPEN_MAX + 1):
        ask(grants, INPUT, f"q-{number}")
        say(grants, request_id=f"q-{number}")
    assert await code_of(grants, INPUT, "q-0") == "NOT_GRANTED"
    assert await code_of(grants, INPUT, "q-1") == "STOPPED"


@pytest.mark.parametrize("params", [{}, {"request_id": 1}, {"request_id": "q", "tool_input": []}])
async def test_nonsense_is_refused(grants: Grants, params: dict[str, Any]) -> None:
    with pytest.raises(RequestFailed) as refused:
        await grants.run(params, lambda _text: None)
    assert refused.value.code == "INVALID_PARAMS"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    home = Home(tmp_path / "home")
    home.make()
    (tmp_path / "user" / ".ssh").mkdir(parents=True)
    (tmp_path / "user" / ".ssh" / "config").write_text("Host a")
    (tmp_path / "user" / "notes").touch()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "admin-token").write_text("admin")
    (tmp_path / "given").write_text("what is needed")
    (tmp_path / "kept").write_text("what is not")
    (tmp_path / "link").symlink_to(tmp_path / "data")
    (tmp_path / "out").mkdir()
    return tmp_path


def granting(place: Path, tool_input: dict[str, Any], **machine: Any) -> Grants:
    """Somebody said yes to it, in a session of a machine with that fence."""
    home = Home(place / "home")
    env = {"HOME": str(place / "user"), "PATH": os.environ["PATH"]}
    fence = Fence(home, "auto", FOUND, hidden=[place / "data"], env=env, **machine)
    config = ipc.Start(session_id="s-1", home=str(home.root), api_keys={"openai": "sk-secret-key"})
    home.session("s-1").mkdir(parents=True)
    made = Grants(
        lambda access: wider(fence.profile, config, access), {**env, "X": "sk-secret-key"}
    )
    ask(made, tool_input)
    say(made)
    return made


@FENCED
async def test_a_command_gets_what_was_allowed_and_nothing_else(place: Path) -> None:
    command = (
        f"cat {place}/given {place}/kept {place}/data/admin-token; echo x > {place}/out/a;"
        f" echo x >> {place}/given; echo key=$X; pwd; echo end"
    )
    tool_input = {
        "command": command,
        "why": "x",
        "read": [f"{place}/given"],
        "write": [f"{place}/out"],
    }
    done = await run(granting(place, tool_input), tool_input)
    output = done["output"]
    assert "what is needed" in output
    assert "what is not" not in output
    assert "admin\n" not in output
    # A kernel that can hide the server's data says so in other words than one that can only refuse.
    assert len(re.findall(REFUSED, output)) == 3
    assert f"key=\n{Home(place / 'home').workspace}\nend" in output
    assert (place / "out" / "a").read_text() == "x\n"
    assert (place / "given").read_text() == "what is needed"
    assert done["finished"]["exit_code"] == 0


@FENCED
async def test_one_file_that_is_named_opens_nothing_else_of_its_folder(place: Path) -> None:
    (place / "user" / ".ssh" / "id").write_text("a private key")
    command = f"cat {place}/user/.ssh/config {place}/user/.ssh/id"
    named = [f"{place}/user", f"{place}/user/.ssh/config"]
    tool_input = {"command": command, "why": "x", "read": named}
    output = (await run(granting(place, tool_input), tool_input))["output"]
    assert "Host a" in output
    assert "a private key" not in output


@FENCED
@pytest.mark.parametrize(
    ("access", "machine", "why"),
    [
        ({"read": ["{place}/data/admin-token"]}, {}, "closed to every session"),
        ({"read": ["{place}/home/.semibot"]}, {}, "closed to every session"),
        ({"write": ["{place}/link"]}, {}, "leads to"),
        ({"read": ["{place}/not-there"]}, {}, "is not there"),
        ({"read": ["given"]}, {}, "no full path"),
        ({"network": True}, {"network": "off"}, "'off' for every session"),
        ({"sockets": ["{place}/data/admin-token"]}, {}, "closed to every session"),
        ({"sockets": ["{place}/given"]}, {}, "is no socket"),
        ({"sockets": ["{place}/not-there"]}, {}, "is not there"),
        ({"read": ["/x"] * 21}, {}, "length"),
    ],
)
async def test_what_nobody_can_allow_is_refused_in_words(
    place: Path, access: dict[str, Any], machine: dict[str, Any], why: str
) -> None:
    named = {
        name: [path.format(place=place) for path in value] if isinstance(value, list) else value
        for name, value in access.items()
    }
    tool_input = {"command": "true", "why": "x", **named}
    with pytest.raises(RequestFailed, match=why):
        await run(granting(place, tool_input, **machine), tool_input)


@FENCED
@pytest.mark.parametrize(("named", "is_open"), [("user", False), ("user/.ssh", True)])
async def test_keys_of_the_user_are_opened_by_their_own_name_alone(
    place: Path, named: str, is_open: bool
) -> None:
    command = f"cat {place}/user/.ssh/config"
    tool_input = {"command": command, "why": "x", "read": [f"{place}/{named}"]}
    done = await run(granting(place, tool_input), tool_input)
    assert ("Host a" in done["output"]) is is_open


@FENCED
async def test_a_command_that_is_cancelled_ends_with_what_it_started(place: Path) -> None:
    command = f"setsid sleep 600 & echo $! > {place}/out/pid; sleep 600"
    tool_input = {"command": command, "why": "x", "write": [f"{place}/out"]}
    grants = granting(place, tool_input)
    running = asyncio.create_task(run(grants, tool_input))
    pid = place / "out" / "pid"
    await until(lambda: pid.is_file() and pid.read_text() != "")
    grants.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until(lambda: not Path(f"/proc/{pid.read_text().strip()}").exists())


def test_where_there_is_no_fence_nothing_is_asked_for() -> None:
    with pytest.raises(RequestFailed, match="no fence"):
        wider(no_fence, ipc.Start(session_id="s-1", home="/"), Access(network=True))
