"""The choices of options are those of the API; what cannot run here is not offered."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest
import typer.main
from typer.testing import CliRunner

from trunkline import log_form
from trunkline.cli import choices, runtimes_here
from trunkline.cli.main import app
from trunkline.control.access.scopes import Scope
from trunkline.control.api.routes.connecting import Dialect
from trunkline.control.presence import Presence
from trunkline.control.records.fields import Confirm, PermissionMode, Role
from trunkline.control.services.usage import GroupBy
from trunkline.control.sessions.records import SessionStatus
from trunkline.execution.fence.profile import Mode as FenceMode
from trunkline.execution.fence.seccomp import Network
from trunkline.permissions.modes import Mode
from trunkline.permissions.rules import Effect


@pytest.mark.parametrize(
    ("ours", "of_the_api"),
    [
        (choices.Confirm, Confirm),
        (choices.Mode, Mode),
        (choices.Effect, Effect),
        (choices.Role, Role),
        (choices.Status, SessionStatus),
        (choices.UsageBy, GroupBy),
        (choices.Dialect, Dialect),
        (choices.Fence, FenceMode),
        (choices.Network, Network),
    ],
)
def test_the_choices_of_an_option_are_those_of_the_api(ours: Any, of_the_api: Any) -> None:
    assert set(get_args(ours)) == set(get_args(of_the_api))


def test_those_that_are_no_types_there_are_the_same_too() -> None:
    assert set(choices.Scope) == set(get_args(Scope))
    assert set(get_args(choices.LogLevel)) == set(log_form.LEVELS)
    assert set(get_args(choices.Mode)) <= set(get_args(PermissionMode))
    assert set(get_args(choices.KnownDialect)) == {*get_args(Dialect), "unknown"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("agent create x --mode fre", "'fre' is not one of plan, ask, accept_edits, free: did you"),
        ("agent create x --confirm nevr", "'nevr' is not one of never, dangerous, always: did you"),
        ("agent create x --runtime cladue-code", "did you mean 'claude-code'?"),
        ("user create x --role root", "'root' is not one of member, org_admin, admin"),
        ("org create x --runtime y", "'y' is not one of semigraph"),
        ("token create --scope write", "'write' is not one of read, talk, approve, admin"),
        ("token create --scope read --scope tlak", "did you mean 'talk'?"),
        ("machine schedule --provider aws", "'aws' is not one of manual, local"),
        ("machine schedule --dialect x", "'x' is not one of documented, deployed"),
        ("machine set-dialect m unknwon", "did you mean 'unknown'?"),
        ("session list --status open", "'open' is not one of active, closed"),
        ("session export s --format pdf", "'pdf' is not one of jsonl, markdown"),
        ("session answer a --yes --scope forever", "'forever' is not one of once, session, always"),
        ("session adopt --runtime gemini", "'gemini' is not one of claude-code, codex, opencode"),
        ("rule add alow x", "did you mean 'allow'?"),
        ("usage --by month", "'month' is not one of model, user, session, agent, machine, day"),
        ("node --wire mqtt", "'mqtt' is not one of semibot, agp, yeaft"),
        ("node --fence on", "'on' is not one of auto, require, off"),
        ("node --network none", "'none' is not one of open, off, list"),
        ("control --log-level trace", "'trace' is not one of debug, info, warning, error"),
        ("memory search x --top-k 21", "21 is not from 1 to 20"),
        ("audit list --limit -1", "-1 is not 0 or more"),
        (
            "session retention x --size-bytes 1",
            "1 is not from 65536 to 1125899906842624",
        ),
        ("agent create x --temperature 9", "9 is not from 0 to 2"),
        ("session lst", "Did you mean 'list'?"),
        ("agent show", "Missing argument"),
        ("agent add", "No such command 'add'. There are: create, delete, list, show, update."),
        ("session configure x --model y", "said as NAME=VALUE: model=…"),
        ("chat --runtime acp hi", "name it with --acp NAME (copilot"),
    ],
)
def test_a_wrong_word_is_refused_with_the_right_ones(arguments: str, says: str) -> None:
    done = CliRunner().invoke(app, arguments.split())
    assert done.exit_code == 2
    assert says in " ".join(done.output.split())


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRUNKLINE_DATA", str(tmp_path))
    return tmp_path


def help_of(*command: str) -> str:
    # A tree of its own: what it says is put in when a command is loaded.
    made: Any = typer.main.get_command(app)
    found = made.commands[command[0]]
    for name in command[1:]:
        found = found.commands[name]
    return " ".join(found.get_help(typer.Context(found)).split())


@pytest.mark.parametrize("command", [("agent", "create"), ("session", "create"), ("chat",)])
def test_help_lists_what_the_machines_of_the_server_can_run(
    data: Path, command: tuple[str, ...]
) -> None:
    presence = Presence(data)
    presence.announce("http://127.0.0.1:9000")
    for name in ("semigraph", "openclaw", "claude-code", "opencode"):
        assert name not in help_of(*command)
    presence.can_run("a", ["semigraph", "acp"])
    presence.can_run("b", ["acp", "acp:opencode", "\x1b[2J"])
    text = help_of(*command)
    assert "runs it: acp, semigraph." in text
    assert "acp: opencode; or" in text
    assert "openclaw" not in text
    presence.can_run("b", ["semigraph", "claude-code"])
    assert runtimes_here.usable() == ["acp", "claude-code", "semigraph"]
    presence.withdraw()
    assert "semigraph" not in help_of(*command)


@pytest.mark.parametrize("said", [b"", b"{", b"[]", b"null", b'{"runtimes": 7}', b"\xff"])
def test_a_damaged_file_hides_no_help(data: Path, said: bytes) -> None:
    (data / "server.json").write_bytes(said)
    assert runtimes_here.usable() == []
    assert "--runtime" in help_of("agent", "create")


def test_what_no_runtime_is_called_is_not_shown(data: Path) -> None:
    (data / "server.json").write_text(json.dumps({"runtimes": ["\x1b[2J", {}, "acp", "acp:x"]}))
    assert runtimes_here.usable() == ["acp"]
