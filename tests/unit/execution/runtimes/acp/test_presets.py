"""Each program gets keys and addresses under the names that it knows; without any it runs as its
user has set it up."""

import json
import shlex
import tomllib
from pathlib import Path

import pytest

from tests.support.programs import put_adapter, put_program
from trunkline.execution.errors import TurnError
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.acp.presets import (
    PRESETS,
    AcpConfig,
    Launch,
    keeps_own_login,
    launch,
    resume,
    wanted_of,
)
from trunkline.execution.runtimes.packages import PACKAGES
from trunkline.names import ACP_PRESETS
from trunkline.permissions.modes import Confirm
from trunkline.wire import resuming

KEYS = {"openai": "sk-o", "anthropic": "sk-a", "gemini": "sk-g"}
URL = "http://127.0.0.1:9/v1"
OPENAI_AT = {"providers": {"openai": {"base_url": URL}}}
ANTHROPIC_AT = {"providers": {"anthropic": {"base_url": "http://127.0.0.1:9"}}}


def installed(root: Path) -> Home:
    home = Home(root)
    for name in ACP_PRESETS:
        if PACKAGES[name].adapter:
            put_adapter(home.programs, name)
            continue
        folder = home.programs / name / "node_modules" / ".bin"
        folder.mkdir(parents=True)
        (folder / PACKAGES[name].commands[0]).write_bytes(b"\x7fELF")
    return home


def launched(
    root: Path,
    preset: str,
    model: str = "gpt-x",
    keys: dict[str, str] = KEYS,
    llm_config: Json = OPENAI_AT,
    confirm: Confirm = "never",
) -> Launch:
    wanted = wanted_of(model, confirm, keys, llm_config, {})
    return launch(AcpConfig(preset=preset), wanted, installed(root), {"HOME": "/h"})


def test_there_is_a_preset_for_every_program_that_is_told_of() -> None:
    assert set(PRESETS) == set(ACP_PRESETS)


@pytest.mark.parametrize("preset", ACP_PRESETS)
def test_without_keys_a_program_runs_as_its_user_has_set_it_up(tmp_path: Path, preset: str) -> None:
    made = launched(tmp_path, preset, model="", keys={}, llm_config={})
    codex = {"CODEX_PATH", "INITIAL_AGENT_MODE", "NO_BROWSER"}
    assert set(made.env) <= {"HOME", "OPENCODE_DISABLE_AUTOUPDATE", *codex}
    assert made.model == ""


@pytest.mark.parametrize("preset", ACP_PRESETS)
def test_no_key_is_an_argument_that_everybody_can_see(tmp_path: Path, preset: str) -> None:
    made = launched(tmp_path, preset)
    assert not any(key in " ".join(made.argv) for key in KEYS.values())
    assert any(key in made.env.values() for key in KEYS.values())


def test_opencode_gets_a_provider_of_its_own_and_the_key_by_reference(tmp_path: Path) -> None:
    made = launched(tmp_path, "opencode")
    assert made.argv[-1] == "acp"
    told = json.loads(made.env["OPENCODE_CONFIG_CONTENT"])
    assert told["model"] == "trunkline-openai/gpt-x"
    provider = told["provider"]["trunkline-openai"]
    assert provider["options"] == {"apiKey": "{env:ACP_MODEL_KEY}", "baseURL": URL}
    assert made.env["ACP_MODEL_KEY"] == "sk-o"
    assert "OPENCODE_PERMISSION" not in made.env
    assert made.model == "trunkline-openai/gpt-x"


def test_opencode_speaks_anthropics_format_where_that_is_served(tmp_path: Path) -> None:
    made = launched(tmp_path, "opencode", model="claude-x", llm_config=ANTHROPIC_AT)
    told = json.loads(made.env["OPENCODE_CONFIG_CONTENT"])
    provider = told["provider"]["trunkline-anthropic"]
    assert provider["npm"] == "@ai-sdk/anthropic"
    assert provider["options"]["baseURL"] == "http://127.0.0.1:9/v1"


def test_opencode_with_a_key_alone_uses_the_provider_that_it_knows(tmp_path: Path) -> None:
    made = launched(tmp_path, "opencode", llm_config={})
    told = json.loads(made.env["OPENCODE_CONFIG_CONTENT"])
    assert told["provider"] == {"openai": {"options": {"apiKey": "{env:ACP_MODEL_KEY}"}}}


@pytest.mark.parametrize(
    ("confirm", "asks"),
    [("dangerous", {"edit": "ask", "bash": "ask", "webfetch": "ask"}), ("always", {"*": "ask"})],
)
def test_opencode_asks_where_the_agent_wants_to_be_asked(
    tmp_path: Path, confirm: Confirm, asks: Json
) -> None:
    made = launched(tmp_path, "opencode", confirm=confirm)
    assert json.loads(made.env["OPENCODE_PERMISSION"]) == asks


@pytest.mark.parametrize("keys", [KEYS, {}])
@pytest.mark.parametrize(
    ("preset", "confirm", "told"),
    [
        ("goose", "dangerous", "GOOSE_MODE=smart_approve"),
        ("goose", "always", "GOOSE_MODE=approve"),
        ("codex", "dangerous", "INITIAL_AGENT_MODE=read-only"),
        ("codex", "always", "INITIAL_AGENT_MODE=read-only"),
        ("gemini", "dangerous", "--approval-mode=default"),
        ("gemini", "always", "--approval-mode=default"),
        ("copilot", "dangerous", "COPILOT_ALLOW_ALL=false"),
        ("copilot", "always", "COPILOT_ALLOW_ALL=false"),
    ],
)
def test_a_program_asks_whatever_its_user_has_allowed_it_in_the_terminal(
    tmp_path: Path, preset: str, confirm: Confirm, told: str, keys: dict[str, str]
) -> None:
    made = launched(tmp_path, preset, keys=keys, llm_config={}, confirm=confirm)
    said = [*made.argv, *(f"{name}={value}" for name, value in made.env.items())]
    assert set(told.split()) <= set(said)


def test_copilot_works_without_its_makers_service_where_a_model_is_given(tmp_path: Path) -> None:
    made = launched(tmp_path, "copilot")
    assert made.argv[-1] == "--acp"
    assert made.env == {
        "HOME": "/h",
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_BASE_URL": URL,
        "COPILOT_PROVIDER_API_KEY": "sk-o",
        "COPILOT_MODEL": "gpt-x",
    }


def test_gemini_takes_only_keys_of_its_maker(tmp_path: Path) -> None:
    made = launched(tmp_path / "a", "gemini", model="gemini/gemini-x")
    assert made.env == {"HOME": "/h", "GEMINI_API_KEY": "sk-g", "GEMINI_MODEL": "gemini-x"}
    assert launched(tmp_path / "b", "gemini", keys={"openai": "sk-o"}).env == {"HOME": "/h"}


def test_codex_gets_a_provider_in_its_configuration_and_its_key_by_name(tmp_path: Path) -> None:
    made = launched(tmp_path, "codex")
    told = json.loads(made.env["CODEX_CONFIG"])
    assert told["model_provider"] == made.env["MODEL_PROVIDER"]
    provider = told["model_providers"][told["model_provider"]]
    assert (provider["base_url"], provider["env_key"]) == (URL, "ACP_MODEL_KEY")
    assert told["model"] == "gpt-x"
    assert made.env["ACP_MODEL_KEY"] == "sk-o"
    assert [name for name, value in made.env.items() if "sk-o" in value] == ["ACP_MODEL_KEY"]


def test_codex_asks_people_and_no_other_model(tmp_path: Path) -> None:
    made = launched(tmp_path, "codex", keys={}, llm_config={})
    assert made.env["INITIAL_AGENT_MODE"] == "workspace-write"


def test_goose_gets_a_host(tmp_path: Path) -> None:
    made = launched(tmp_path, "goose")
    assert made.env["GOOSE_PROVIDER"] == "openai"
    assert made.env["OPENAI_HOST"] == "http://127.0.0.1:9"
    assert made.env["GOOSE_MODEL"] == "gpt-x"


def test_a_command_of_ones_own_gets_the_usual_names_and_its_own_variables(tmp_path: Path) -> None:
    config = AcpConfig(command=["agent", "--acp"], env={"OPENAI_API_KEY": "mine", "X": "y"})
    wanted = wanted_of("claude-x", "never", KEYS, ANTHROPIC_AT, {})
    made = launch(config, wanted, Home(tmp_path), {"HOME": "/h"})
    assert made.argv == ("agent", "--acp")
    assert made.env["ANTHROPIC_API_KEY"] == "sk-a"
    assert made.env["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:9"
    assert (made.env["OPENAI_API_KEY"], made.env["X"]) == ("mine", "y")


@pytest.mark.parametrize("preset", ACP_PRESETS)
def test_what_is_not_installed_is_said_with_the_command_that_installs_it(
    tmp_path: Path, preset: str
) -> None:
    wanted = wanted_of("", "never", {}, {}, {})
    with pytest.raises(TurnError, match=f"trunkline doctor --install {preset}") as raised:
        launch(AcpConfig(preset=preset), wanted, Home(tmp_path), {"PATH": ""})
    assert raised.value.code == "RUNTIME_UNAVAILABLE"


def test_how_to_go_on_in_a_terminal_is_told_safely(tmp_path: Path) -> None:
    made = launched(tmp_path, "opencode")
    told = resume(made, "s; rm -r x", tmp_path)
    assert told["command"] == "opencode --session 's; rm -r x'"
    assert told["folder"] == str(tmp_path)


OLD = '{"name": "x", "version": "0.99.0"}'


def with_codex(root: Path, path: str) -> str:
    """Which program the adapter is told to drive; an empty text: its own."""
    wanted = wanted_of("gpt-x", "never", KEYS, OPENAI_AT, {})
    made = launch(AcpConfig(preset="codex"), wanted, installed(root), {"PATH": path})
    name = PACKAGES["codex"].name
    return "" if name in made.env["CODEX_PATH"] else made.env["CODEX_PATH"]


def test_codex_is_the_users_own_where_there_is_one(tmp_path: Path) -> None:
    own = put_program(tmp_path / "bin", "codex")
    assert with_codex(tmp_path / "a", str(own.parent)) == str(own)
    assert with_codex(tmp_path / "b", "") == ""


def test_a_codex_that_is_too_old_for_the_adapter_or_cannot_start_is_not_used(
    tmp_path: Path,
) -> None:
    old = put_program(tmp_path / "node_modules/x", "codex")
    (old.parent / "package.json").write_text(OLD)
    assert with_codex(tmp_path / "a", str(old.parent)) == ""
    script = tmp_path / "bin" / "codex"
    put_program(script.parent, "codex").write_text("#!/usr/bin/env node\n")
    assert with_codex(tmp_path / "b", str(script.parent)) == ""
    put_program(script.parent, "node")
    assert with_codex(tmp_path / "c", str(script.parent)) == str(script)


def test_who_has_codex_and_not_the_adapter_is_told_so(tmp_path: Path) -> None:
    own = put_program(tmp_path / "bin", "codex")
    wanted = wanted_of("", "never", {}, {}, {})
    with pytest.raises(TurnError, match=f"codex is here .{own}., but not the adapter"):
        launch(AcpConfig(preset="codex"), wanted, Home(tmp_path), {"PATH": str(own.parent)})


@pytest.mark.parametrize(
    ("preset", "saved", "keeps"),
    [
        ("codex", {"program": "codex", "session_id": "c"}, True),  # adopted
        ("codex", {"program": "codex", "usage": {}, "provider_url": ""}, True),
        ("codex", {"program": "codex", "usage": {}, "provider_url": URL}, False),
        ("codex", {"program": "codex", "usage": {}}, False),  # of an older version
        ("codex", {}, False),
        ("codex", {"program": "opencode", "session_id": "c"}, False),
        ("opencode", {"program": "opencode", "session_id": "c"}, False),
    ],
)
def test_a_conversation_of_codex_stays_with_the_login_that_it_began_with(
    preset: str, saved: Json, keeps: bool
) -> None:
    assert keeps_own_login(AcpConfig(preset=preset), saved) is keeps


def test_the_provider_of_a_conversation_of_codex_is_in_the_command_that_goes_on_with_it(
    tmp_path: Path,
) -> None:
    with_key = resume(launched(tmp_path / "a", "codex"), "c-1", tmp_path)
    program, *settings, name, session_id = shlex.split(with_key["command"])
    assert (program, name, session_id) == ("codex", "resume", "c-1")
    assert settings[:3] == ["-c", "model_provider=trunkline", "-c"]
    told = tomllib.loads(settings[3])["model_providers"]["trunkline"]
    assert (told["base_url"], told["env_key"]) == (URL, "OPENAI_API_KEY")
    own = resume(launched(tmp_path / "b", "codex", keys={}, llm_config={}), "c-1", tmp_path)
    assert own["command"] == "codex resume c-1"


def test_an_address_that_is_none_gets_into_no_command() -> None:
    for url in ('http://x/"}; rm', "ftp://x", "$(rm)", "http://x/\n"):
        assert resuming.command("codex", "c-1", url) == "codex resume c-1"
