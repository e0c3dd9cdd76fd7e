"""The command line against a real server that it started itself."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import scripted_daemon, warm_start

PROGRAM = Path(sys.executable).parent / "trunkline"
BOUND_S = 60
NOBODY = "01a1dd16-7fed-7860-a4ee-8e35ee94311f"


class Cli:
    """`trunkline …` as a user runs it, with a data folder of its own."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.env = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        self.env |= {
            "TRUNKLINE_DATA": str(data),
            "TRUNKLINE_PORT": "0",
            "TRUNKLINE_VM_COMMAND": f"{sys.executable} {scripted_daemon.__file__}",
        }

    def run(self, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
        return warm_start.run(arguments, self.env, self.data.parent, text or "")

    def ok(self, *arguments: str, text: str | None = None) -> str:
        done = self.run(*arguments, text=text)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    def json(self, *arguments: str, text: str | None = None) -> Any:
        return json.loads(self.ok(*arguments, "--json", text=text))

    def serve(self, *command: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [PROGRAM, *command, "--json-logs"],
            env=self.env,
            cwd=self.data.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture(scope="module")
def greeting() -> list[str]:
    return []


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory, greeting: list[str]) -> Iterator[Cli]:
    cli = Cli(tmp_path_factory.mktemp("cli") / "data")
    server = cli.serve("up", "--no-machine")
    assert server.stdout is not None
    greeting += [server.stdout.readline(), server.stdout.readline()]
    yield cli
    server.send_signal(signal.SIGTERM)
    _, logs = server.communicate(timeout=BOUND_S)
    assert server.returncode == 0
    events = [json.loads(line) for line in logs.splitlines()]
    assert all(event["event"] and event["level"] in ("info", "warning") for event in events)


def test_up_prints_a_login_link_that_works_once(cli: Cli, greeting: list[str]) -> None:
    url = re.search(r"http://\S+", greeting[0])
    link = re.search(r"http://\S+/login\?code=\S+", greeting[1])
    assert url
    assert link
    with urllib.request.urlopen(link[0]) as answer:
        assert answer.status == 200
    assert cli.json("user", "me")["user"]["role"] == "admin"


def test_the_admin_token_is_for_its_owners_eyes_only(cli: Cli) -> None:
    assert (cli.data / "admin-token").stat().st_mode & 0o777 == 0o600


def test_people_and_their_tokens(cli: Cli) -> None:
    org = cli.json("org", "create", "Acme")
    user = cli.json("user", "create", "Ada", "--org", org["id"])
    issued = cli.json("token", "create", "--user", user["id"], "--label", "phone")
    assert cli.json("user", "me", "--token", issued["token"])["user"]["name"] == "Ada"
    assert [one["label"] for one in cli.json("token", "list", "--user", user["id"])] == ["phone"]
    cli.ok("token", "revoke", "phone", "--yes")
    refused = cli.run("user", "me", "--token", issued["token"])
    assert refused.returncode == 1
    assert "UNAUTHORIZED" in refused.stderr
    assert issued["token"] not in refused.stderr
    cli.json("user", "update", "ada", "--role", "org_admin")
    asked = cli.run("user", "delete", "ada")
    assert (asked.returncode, "Delete the user 'Ada' with all" in asked.stderr) == (1, True)
    cli.ok("user", "delete", user["id"], "--yes")
    cli.ok("org", "delete", org["id"], "--yes")


def test_a_login_link_can_be_had_while_the_server_runs(cli: Cli) -> None:
    user = cli.json("user", "create", "Bea")
    for whose in ((), (user["id"],)):
        link = cli.json("user", "login-link", *whose)
        with urllib.request.urlopen(link["url"]) as answer:
            assert answer.status == 200
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(link["url"])
    cli.ok("user", "delete", user["id"], "--yes")


def test_a_machine_gets_a_new_token_until_it_is_given_up(cli: Cli) -> None:
    made = cli.json("machine", "schedule", "--name", "laptop", "--dialect", "deployed")
    assert cli.json("machine", "show", made["vm_id"])["dialect"] == "deployed"
    for dialect, known in (("documented", "documented"), ("unknown", None)):
        assert cli.json("machine", "set-dialect", made["vm_id"], dialect)["dialect"] == known
    again = cli.json("machine", "token", made["vm_id"])
    assert set(again) == set(made)
    assert (again["vm_id"], again["ws_url"]) == (made["vm_id"], made["ws_url"])
    assert again["ticket"] != made["ticket"]
    cli.ok("machine", "terminate", made["vm_id"], "--yes")
    refused = cli.run("machine", "token", made["vm_id"])
    assert refused.returncode == 1
    assert "VM_NOT_ACTIVE" in refused.stderr


def test_devices_and_yeaft_agents_are_let_in(cli: Cli) -> None:
    device = cli.json("machine", "add-device", "--guid", "cli-phone", "--app", "openclaw")
    again = cli.json("machine", "add-device", "--guid", "cli-phone")
    assert (again["guid"], again["machine_id"]) == ("cli-phone", device["machine_id"])
    assert again["token"] != device["token"]
    agent = cli.json("machine", "add-yeaft-agent", "--name", "laptop")
    kinds = {one["id"]: one["kind"] for one in cli.json("machine", "list")}
    assert (kinds[device["machine_id"]], kinds[agent["id"]]) == ("agp", "yeaft")
    for machine_id in (device["machine_id"], agent["id"]):
        cli.ok("machine", "terminate", machine_id, "--yes")


def test_a_machine_goes_by_its_name_while_no_other_has_it(cli: Cli) -> None:
    """By id, by a device's guid, or as `machine list` shows it."""
    desk = cli.json("machine", "schedule", "--name", "my desk")["vm_id"]
    phone = cli.json("machine", "add-device", "--guid", "named-phone")["machine_id"]
    for name, meant in ((desk, desk), ("my desk", desk), ("named-phone", phone)):
        session = cli.json("session", "create", "--machine", name)
        assert session["machine_id"] == meant
        cli.ok("session", "close", session["id"])
    person = cli.json("person", "create", "dora", "--machine", "my desk")
    assert person["machine_id"] == desk
    other = cli.json("machine", "schedule", "--name", "my desk")["vm_id"]
    for command in (("session", "create"), ("chat", "hello")):
        refused = cli.run(*command, "--machine", "my desk")
        assert refused.returncode == 1
        listed = refused.stderr.partition("2 machines are named 'my desk': ")[2]
        beginnings = re.findall(r"([0-9a-f-]+)… \"my desk\" \(pending, today\)", listed)
        assert sorted(cli.json("machine", "show", one)["id"] for one in beginnings) == [desk, other]
    unknown = cli.run("session", "create", "--machine", "named-fone")
    assert (unknown.returncode, "did you mean 'named-phone'?" in unknown.stderr) == (1, True)
    cli.ok("person", "delete", "dora", "--yes")
    for machine in (desk, other, phone):
        cli.ok("machine", "terminate", machine, "--yes")


def test_a_key_comes_from_stdin_and_is_not_shown_again(cli: Cli) -> None:
    me = cli.json("user", "me")["user"]["id"]
    shown = cli.ok("user", "set-key", "openai", "--user", me, text="sk-very-secret-key\n")
    assert "very-secret" not in shown
    cli.ok("user", "delete-key", me, "openai")


def test_a_password_comes_from_stdin_and_a_name_has_to_be_one_users(cli: Cli) -> None:
    first = cli.json("user", "create", "Hedy")
    shown = cli.ok("user", "password", "Hedy", text="correct horse battery\n")
    assert "horse" not in shown
    short = cli.run("user", "password", "Hedy", text="short\n")
    assert (short.returncode, "short" in short.stderr) == (1, False)
    cli.json("user", "create", "Hedy")
    refused = cli.run("user", "password", "Hedy", text="correct horse battery\n")
    assert (refused.returncode, "2 users" in refused.stderr) == (1, True)
    cli.ok("user", "password", first["id"], text="another horse battery\n")
    assert cli.run("user", "password", "nobody", text="correct horse\n").returncode == 1


def test_agents_memories_servers_and_skills(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("Be brief.\n")
    chosen = ("--prompt", f"@{tmp_path / 'prompt.md'}", "--session-config", "context_window=9000")
    agent = cli.json("agent", "create", "Coder", *chosen)
    assert agent["session_config"] == {"context_window": 9000}
    assert agent["system_prompt"] == "Be brief.\n"
    changed = cli.json("agent", "update", "coder", "--temperature", "0.2")
    assert (changed["temperature"], changed["system_prompt"]) == (0.2, "Be brief.\n")
    assert agent["id"] in cli.ok("agent", "list")
    memory = cli.json("memory", "add", "Deploys happen on Tuesdays")
    assert "Tuesdays" in cli.ok("memory", "search", "deploys")
    cli.ok("memory", "delete", memory["id"][:-1], "--yes")
    server = cli.json("mcp", "add", "files", "--command", "mcp-files", "--arg", "/srv")
    assert (server["type"], server["args"]) == ("local", ["/srv"])
    cli.ok("mcp", "delete", "files", "--yes")
    skill = tmp_path / "greet"
    skill.mkdir()
    (skill / "SKILL.md").write_text("---\nname: greet\ndescription: Says hello.\n---\nHi.\n")
    imported = cli.json("skill", "import", str(skill))
    assert "SKILL.md" in cli.json("skill", "show", imported["skill_id"])["files"]
    cli.ok("skill", "delete", imported["id"], "--yes")
    cli.ok("agent", "delete", agent["id"], "--yes")


def test_a_shell_completes_names_that_the_server_knows(cli: Cli) -> None:
    """By the protocol that typer's script for bash speaks, in a process of its own."""
    for name in ("Completed", "completed too", "other"):
        cli.ok("agent", "create", name)

    def completed(words: str, **env: str) -> list[str]:
        asked = {"_TRUNKLINE_COMPLETE": "complete_bash", "COMP_WORDS": f"trunkline {words}"}
        position = str(len(words.split()) + words.endswith(" "))
        done = subprocess.run(
            [PROGRAM],
            env={**cli.env, **asked, "COMP_CWORD": position, **env},
            capture_output=True,
            text=True,
            timeout=BOUND_S,
        )
        assert done.stderr == ""
        return [line for line in done.stdout.splitlines() if line]

    assert completed("agent show compl") == ["completed\\ too", "Completed"]
    assert completed("chat --agent Oth") == ["other"]
    agent_id = cli.json("agent", "show", "other")["id"]
    assert completed(f"agent show {agent_id[:-4]}") == [agent_id]
    url = json.loads((cli.data / "server.json").read_text())["url"]
    assert completed(f"agent show --url {url} --token wrong compl") == []
    assert completed("agent show compl", TRUNKLINE_URL="http://127.0.0.1:1") == []
    assert completed("agent show compl", TRUNKLINE_DATA=str(cli.data / "nowhere")) == []
    for name in ("Completed", "completed too", "other"):
        cli.ok("agent", "delete", name, "--yes")


def test_a_system_is_saved_checked_and_made_anew_elsewhere(cli: Cli, tmp_path: Path) -> None:
    file, other = str(tmp_path / "saved.tar"), str(tmp_path / "other")
    said = cli.ok("backup", file)
    assert re.search(r"saved\.tar: .* users?, .* of 20.* UTC\nIt holds the keys", said)
    assert cli.json("backup", "--replace", file)["database"] == "sqlite"
    assert "It is whole" in cli.ok("backup", "--verify", file)
    assert f"Restored into {other}." in cli.ok("restore", file, "--data", other)
    for code, error, arguments in (
        (1, "is there already", ("backup", file)),
        (1, "another server", ("restore", "--replace", file)),
        (1, "--replace", ("restore", file, "--data", other)),
        (1, "has no databases", ("backup", str(tmp_path / "new.tar"), "--data", str(tmp_path))),
        (1, "cannot be used", ("backup", "--verify", str(cli.data / "admin-token"))),
        (2, "name the backup", ("restore",)),
        (2, "name the backup", ("restore", "--skip-ids", file)),
    ):
        failed = cli.run(*arguments)
        assert (failed.returncode, failed.stdout) == (code, "")
        *_, last = failed.stderr.splitlines()  # behind what a slow one tells of its progress
        assert re.fullmatch(f"error: .*{error}.*", last)
    cli.env["TRUNKLINE_DATABASE_URL"] = "postgresql+asyncpg://nobody@127.0.0.1:1/none"
    try:
        # Whose settings these are not.
        assert "the running server uses SQLite" in cli.run("backup", "--replace", file).stderr
        said = cli.ok("backup", "--replace", file, "--data", other)
        assert "copy that with its own tools (pg_dump" in said
        assert "far ahead" in cli.ok("restore", "--skip-ids", "--data", other)
    finally:
        del cli.env["TRUNKLINE_DATABASE_URL"]


def test_reports(cli: Cli) -> None:
    assert isinstance(cli.json("usage", "--by", "day"), list)
    assert cli.json("audit", "verify")["ok"] is True
    assert isinstance(cli.json("audit", "list"), list)


def test_a_noted_head_of_the_audit_log_is_held_against_it(cli: Cli) -> None:
    head = cli.json("audit", "head")
    noted = ("audit", "verify", "--seq", str(head["seq"]), "--hash")
    assert cli.json(*noted, head["hash"])["ok"] is True
    failed = cli.run(*noted, "0" * len(head["hash"]))
    assert (failed.returncode, f"broken at entry {head['seq']}" in failed.stderr) == (1, True)


def test_the_doctor_looks_at_the_server_that_runs(cli: Cli) -> None:
    """Not at the environment that it is called in."""
    url = json.loads((cli.data / "server.json").read_text())["url"]
    cli.env["TRUNKLINE_DATABASE_URL"] = "postgresql+asyncpg://me:hunter2@127.0.0.1:1/nothing"
    try:
        checks = {check["name"]: check for check in cli.json("doctor")}
    finally:
        del cli.env["TRUNKLINE_DATABASE_URL"]
    assert {checks[name]["state"] for name in ("Python", "Server", "Database", "Port")} == {"ok"}
    assert url in checks["Server"]["detail"]
    assert checks["Database"]["detail"] == "SQLite in the data folder"
    assert str(cli.data) in checks["Data folder"]["detail"]
    member = cli.json("user", "create", "Mo")
    token = cli.json("token", "create", "--user", member["id"])["token"]
    refused = urllib.request.Request(
        url + "/api/v1/server", headers={"Authorization": f"Bearer {token}"}
    )
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(refused)
    cli.ok("user", "delete", member["id"], "--yes")


def test_a_chat_streams_and_goes_on_in_the_same_session(cli: Cli) -> None:
    vm_id = cli.json("machine", "schedule", "--provider", "local")["vm_id"]
    # The first message is held until the machine has connected.
    said = cli.run("chat", "Hello there", "--machine", vm_id, "--mode", "plan")
    assert (said.returncode, said.stdout) == (0, "Hello there\n")
    session_id = said.stderr.split()[1]
    assert cli.json("session", "show", session_id)["agent_config"]["permission_mode"] == "plan"
    again = cli.ok("chat", "--session", session_id, "--json", text="And again\n")
    events = [json.loads(line) for line in again.splitlines()]
    assert [one["type"] for one in events] == ["text_chunk", "execution_complete"]
    log = cli.json("session", "log", session_id)
    assert [one["type"] for one in log].count("user_message") == 2
    assert "> And again\nAnd again\n" in cli.ok("session", "read", session_id)
    cli.ok("session", "cancel", session_id)
    cli.ok("session", "rename", session_id, "A chat")
    assert "A chat" in cli.ok("session", "list", "--status", "active")
    cli.ok("session", "close", session_id)
    assert cli.run("chat", "more", "--session", session_id).returncode == 1
    cli.ok("machine", "terminate", vm_id, "--yes")
    assert vm_id not in cli.ok("machine", "list")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("session", "show", NOBODY), 1, "SESSION_NOT_FOUND"),
        (("session", "show", "nope"), 1, "no session is named 'nope'"),
        (("session", "show", " "), 1, "names no session"),
        (("user", "me", "--url", "http://127.0.0.1:1"), 1, "is it running?"),
        (("user", "me", "--url", "gopher://x"), 1, "no http address"),
        (("agent", "create", "x", "--prompt", "@/nothing"), 1, "nothing: No such file"),
        (("agent", "create", ""), 1, "name: must not be empty (INVALID_REQUEST)"),
        (
            ("agent", "create", "x", "--tool", "zzzz"),
            1,
            "'zzzz'; there are: apply_patch, ask_user,",
        ),
        (("chat", " "), 2, "the message is empty"),
        (("doctor", "--install", "zzzz"), 1, "'zzzz' is not one of openclaw, claude-code,"),
        (("backup", "/nothing/x.tar"), 1, "no backup was made: /nothing/x.tar: No such file"),
        (("mcp", "add", "x"), 2, "either --server or --command"),
        (("chat", "--follow"), 2, "--follow needs --session"),
        (("nonsense",), 2, "No such command"),
        (("up", "--port", "99999"), 2, "port must be"),
        (("control", "--config", "/nothing.toml"), 2, "/nothing.toml"),
        (("memory", "search", "x", "--top-k", "21"), 2, "top-k"),
        (("user", "set-key", "opnai"), 1, "did you mean 'openai'?"),
        (("agent", "create", "x", "--tool", "bsh"), 1, "did you mean 'bash'?"),
        (("session", "configure", NOBODY, "temprature=1"), 1, "did you mean 'temperature'?"),
    ],
)
def test_failures_are_one_line_and_a_code(
    cli: Cli, arguments: tuple[str, ...], code: int, says: str
) -> None:
    done = cli.run(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_that_is_taken_is_one_clear_line(cli: Cli, tmp_path: Path) -> None:
    port = json.loads((cli.data / "server.json").read_text())["url"].rpartition(":")[2]
    done = cli.run("control", "--port", port, "--data", str(tmp_path / "other"))
    assert done.returncode == 1
    assert "cannot listen" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("url", "says"),
    [
        (
            "postgresql+asyncpg://me:hunter2@127.0.0.1:1/records?password=hunter2",
            "does not answer (postgresql://127.0.0.1:1/records)",
        ),
        ("not an address with hunter2", "database_url is no address"),
    ],
)
def test_a_database_that_does_not_answer_is_one_line_with_its_address(
    cli: Cli, tmp_path: Path, url: str, says: str
) -> None:
    cli.env["TRUNKLINE_DATABASE_URL"] = url
    try:
        done = cli.run("control", "--data", str(tmp_path / "other"), "--port", "0")
    finally:
        del cli.env["TRUNKLINE_DATABASE_URL"]
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert says in done.stderr
    assert "hunter2" not in done.stderr
