"""Each program gets keys and addresses under the names that it knows; without any it runs as its
user has set it up."""

import json
from pathlib import Path

import pytest

from trunkline.execution.errors import TurnError
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.acp.presets import (
    PRESETS,
    AcpConfig,
    Launch,
    launch,
    resume,
    wanted_of,
)
from trunkline.execution.runtimes.packages import PACKAGES
from trunkline.names import ACP_PRESETS
from trunkline.permissions.modes import Confirm

KEYS = {"openai": "sk-o", "anthropic": "sk-a", "gemini": "sk-g"}
URL = "http://127.0.0.1:9/v1"
OPENAI_AT = {"providers": {"openai": {"base_url": URL}}}
ANTHROPIC_AT = {"providers": {"anthropic": {"base_url": "http://127.0.0.1:9"}}}


def installed(root: Path) -> Home:
    home = Home(root)
    for name in ACP_PRESETS:
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
    assert set(made.env) <= {"HOME", "OPENCODE_DISABLE_AUTOUPDATE"}
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
        ("codex", "dangerous", 'approval_policy="on-request" sandbox_mode="read-only"'),
        ("codex", "always", 'approval_policy="untrusted" sandbox_mode="read-only"'),
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


def test_codex_gets_a_provider_in_arguments_and_its_key_by_name(tmp_path: Path) -> None:
    made = launched(tmp_path, "codex")
    told = dict(word.split("=", 1) for word in made.argv[1:] if word != "-c")
    assert told["model_providers.trunkline.base_url"] == f'"{URL}"'
    assert told["model_providers.trunkline.env_key"] == '"ACP_MODEL_KEY"'
    assert told["model"] == '"gpt-x"'
    assert made.env["ACP_MODEL_KEY"] == "sk-o"


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


def test_what_codex_needs_beside_itself_is_found_behind_what_the_machine_has(
    tmp_path: Path,
) -> None:
    home = installed(tmp_path)
    place = home.programs / "codex" / "node_modules/@openai/codex-linux-x64/vendor/musl"
    (place / "codex-resources").mkdir(parents=True)
    wanted = wanted_of("gpt-x", "never", KEYS, OPENAI_AT, {})
    made = launch(AcpConfig(preset="codex"), wanted, home, {"PATH": "/usr/bin"})
    assert made.env["PATH"] == f"/usr/bin:{place / 'codex-resources'}"
    made = launch(AcpConfig(preset="goose"), wanted, home, {"PATH": "/usr/bin"})
    assert made.env["PATH"] == "/usr/bin"
