"""What a machine is told at its start when it works for a foreign server."""

from pathlib import Path

import pytest

from trunkline.execution.errors import SettingsError
from trunkline.execution.home import Home
from trunkline.execution.roots import Roots
from trunkline.execution.runtimes.foreign.library import Library
from trunkline.execution.settings import NodeSettings
from trunkline.execution.ws.client import ControlPlaneClient
from trunkline.execution.ws.configured_line import agent_of, line_of
from trunkline.execution.ws.foreign.agp import AgpClient
from trunkline.execution.ws.foreign.yeaft import YeaftClient

ENV = {
    "TRUNKLINE_WIRE_SERVER": "ws://127.0.0.1:1/",
    "TRUNKLINE_WIRE_ID": "desk-1",
    "TRUNKLINE_WIRE_USER_ID": "ada",
    "TRUNKLINE_WIRE_TOKEN": "secret-of-the-machine",
}


def settings(wire: str, **flags: object) -> NodeSettings:
    return NodeSettings.from_env(ENV, {"wire": wire, **flags})


@pytest.mark.parametrize(
    ("wire", "kind"), [("agp", AgpClient), ("yeaft", YeaftClient), ("semibot", ControlPlaneClient)]
)
async def test_the_wire_chooses_the_line(wire: str, kind: type, tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.make()
    own = {"USER_ID": "u", "VM_TOKEN": "t", "CONTROL_PLANE_WS": "ws://127.0.0.1:1/ws/vm"}
    chosen = NodeSettings.from_env(ENV | own, {"wire": wire})
    library = Library(tmp_path / "own", {}, Roots(home.workspace))
    line = line_of(chosen, home, library, lambda _why: None)
    assert type(line) is kind
    await line.close()


@pytest.mark.parametrize(
    ("wire", "missing", "told"),
    [
        ("agp", ["TRUNKLINE_WIRE_SERVER"], "--server"),
        ("agp", ["TRUNKLINE_WIRE_ID", "TRUNKLINE_WIRE_TOKEN"], "--guid and --user-id, or a token"),
        ("yeaft", ["TRUNKLINE_WIRE_ID"], "--id"),
        ("yeaft", ["TRUNKLINE_WIRE_TOKEN"], "TRUNKLINE_WIRE_TOKEN"),
        ("smoke", [], "semibot, agp, yeaft"),
        ("semibot", [], "USER_ID is not set"),
    ],
)
def test_what_is_missing_is_named(wire: str, missing: list[str], told: str) -> None:
    env = {name: value for name, value in ENV.items() if name not in missing}
    with pytest.raises(SettingsError, match=told):
        NodeSettings.from_env(env, {"wire": wire})


def test_the_credentials_of_a_control_plane_are_not_shown_to_a_foreign_server() -> None:
    env = {"VM_TOKEN": "of-trunkline", "CONTROL_PLANE_WS": "wss://trunk.example/ws/vm"}
    with pytest.raises(SettingsError, match="TRUNKLINE_WIRE_SERVER"):
        NodeSettings.from_env(env, {"wire": "agp"})
    found = NodeSettings.from_env(env | ENV, {"wire": "agp"})
    assert found.token == "secret-of-the-machine"


def test_a_device_whose_token_names_it_needs_no_more() -> None:
    env = {"TRUNKLINE_WIRE_SERVER": "wss://agp.example", "TRUNKLINE_WIRE_TOKEN": "abc"}
    assert NodeSettings.from_env(env, {"wire": "agp"}).machine_id == ""


def test_an_agent_is_careful_unless_its_owner_says_otherwise(tmp_path: Path) -> None:
    file = tmp_path / "agent.toml"
    file.write_text('system_prompt = "Be kind."\nmodel = "local"\nconfirm = "always"\n')
    assert agent_of(settings("agp")) == {"confirm": "dangerous"}
    assert agent_of(settings("agp", confirm="never")) == {"confirm": "never"}
    found = agent_of(settings("agp", agent_file=file, model="gpt-x"))
    assert found == {"system_prompt": "Be kind.", "model": "gpt-x", "confirm": "always"}
    other = tmp_path / "agent.json"
    other.write_text('{"model": "demo"}')
    assert agent_of(settings("yeaft", agent_file=other))["model"] == "demo"


@pytest.mark.parametrize("text", ["", "[1]", "{", "\0", "x = "])
@pytest.mark.parametrize("ending", [".json", ".toml"])
def test_an_agents_file_that_is_none_is_refused_with_its_name(
    tmp_path: Path, text: str, ending: str
) -> None:
    file = tmp_path / f"agent{ending}"
    file.write_text(text)
    if (text, ending) == ("[1]", ".toml"):
        file.write_text("[1")
    with pytest.raises(SettingsError, match="agent"):
        agent_of(settings("agp", agent_file=file))


@pytest.mark.parametrize(
    "text", ['confirm = "sometimes"', "confirm = false", "tools = 7", "temperature = 9"]
)
def test_a_value_that_no_agent_can_have_is_refused_before_any_session_starts(
    tmp_path: Path, text: str
) -> None:
    file = tmp_path / "agent.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=f"agent.toml: {text.split()[0]}"):
        agent_of(settings("agp", agent_file=file))


def test_a_file_that_leaves_open_which_tools_need_a_yes_leaves_it_careful(tmp_path: Path) -> None:
    file = tmp_path / "agent.json"
    file.write_text('{"confirm": null, "model": "demo"}')
    assert agent_of(settings("agp", agent_file=file)) == {"confirm": "dangerous", "model": "demo"}


@pytest.mark.parametrize(
    ("wire", "flag", "told"),
    [
        ("semibot", "confirm", "--confirm means nothing with --wire semibot"),
        ("semibot", "machine_id", "--id"),
        ("agp", "ticket", "--ticket"),
        ("agp", "name", "--name"),
        ("yeaft", "user_id", "--user-id"),
    ],
)
def test_a_flag_that_would_do_nothing_is_refused(wire: str, flag: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        settings(wire, **{flag: "x"})


@pytest.mark.parametrize(
    ("flag", "value", "told"),
    [("confirm", "maybe", "--confirm: .*'maybe'"), ("machine_id", "g" * 500, "--id: .*128")],
)
def test_a_bad_value_is_told_by_its_flag(flag: str, value: str, told: str) -> None:
    with pytest.raises(SettingsError, match=f"^{told}"):
        settings("agp", **{flag: value})


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="missing"):
        agent_of(settings("agp", agent_file=tmp_path / "no.toml"))
