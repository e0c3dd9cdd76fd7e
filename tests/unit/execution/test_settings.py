"""The daemon's settings: both spellings, flags first, nonsense refused by name."""

from pathlib import Path
from typing import Any

import pytest

from trunkline import limits
from trunkline.execution.errors import SettingsError
from trunkline.execution.settings import NodeSettings

ENV = {"USER_ID": "u-1", "VM_TOKEN": "t-1", "CONTROL_PLANE_WS": "ws://127.0.0.1:8080/ws/vm"}


def loaded(**env: str) -> NodeSettings:
    return NodeSettings.from_env(ENV | env)


@pytest.mark.proves("004-5-environment")
def test_the_documents_environment_is_enough() -> None:
    settings = loaded(VM_TICKET="k-1")
    assert (settings.user_id, settings.token, settings.ticket) == ("u-1", "t-1", "k-1")
    assert settings.control_plane_url == "ws://127.0.0.1:8080/ws/vm"
    assert settings.home == Path("/") / "home" / "user"
    assert settings.sessions_max == limits.NODE_SESSIONS_MAX == 20


def test_the_deployed_spelling_of_the_user_works_too() -> None:
    env = {**ENV, "VM_USER_ID": "u-2"}
    assert NodeSettings.from_env(env).user_id == "u-1"
    del env["USER_ID"]
    assert NodeSettings.from_env(env).user_id == "u-2"


def test_a_daemon_that_returns_has_no_ticket() -> None:
    assert loaded().ticket is None
    assert loaded(VM_TICKET="").ticket is None


def test_a_flag_comes_before_the_environment() -> None:
    flags = {"sessions_max": 3, "home": Path("/elsewhere"), "token": None}
    settings = NodeSettings.from_env(ENV | {"TRUNKLINE_NODE_SESSIONS_MAX": "5"}, flags)
    assert (settings.sessions_max, settings.home, settings.token) == (3, Path("/elsewhere"), "t-1")


def test_a_relative_home_is_one_below_here(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert loaded(TRUNKLINE_NODE_HOME="agents").home == tmp_path / "agents"


def test_keys_of_the_machines_own_user_are_taken_up() -> None:
    settings = loaded(OPENAI_API_KEY="a", ANTHROPIC_API_KEY="", TAVILY_API_KEY="c")
    assert settings.api_keys == {"openai": "a", "tavily": "c"}


def test_names_that_sessions_may_have_are_a_list() -> None:
    assert loaded(TRUNKLINE_NODE_PASS_ENV=" A, B ,,").passed_names == ["A", "B"]


@pytest.mark.parametrize("name", sorted(ENV))
@pytest.mark.proves("004-5-environment-missing")
def test_what_is_missing_is_named(name: str) -> None:
    with pytest.raises(SettingsError, match=f"{name} is not set"):
        NodeSettings.from_env({key: value for key, value in ENV.items() if key != name})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CONTROL_PLANE_WS", "http://host/ws/vm"),
        ("CONTROL_PLANE_WS", "host:8080"),
        ("CONTROL_PLANE_WS", "ws://"),
        ("CONTROL_PLANE_WS", "ws://host:99999/"),
        ("CONTROL_PLANE_WS", "ws://host:0/"),
        ("CONTROL_PLANE_WS", "ws://[::1/"),
        ("CONTROL_PLANE_WS", "ws://user:pass@host/"),
        ("CONTROL_PLANE_WS", "ws://host/?token=x"),
        ("CONTROL_PLANE_WS", "ws://" + "h" * 1000),
        ("TRUNKLINE_NODE_SESSIONS_MAX", "0"),
        ("TRUNKLINE_NODE_SESSIONS_MAX", "many"),
        ("TRUNKLINE_NODE_SESSIONS_MAX", "1000000"),
        ("TRUNKLINE_LOG_LEVEL", "loud"),
        ("USER_ID", "u" * 1000),
        ("VM_TOKEN", "t" * 100_000),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(name: str, value: str) -> None:
    with pytest.raises(SettingsError):
        loaded(**{name: value})


def test_secrets_are_not_part_of_what_is_printed() -> None:
    settings = loaded(VM_TOKEN="hunter2", VM_TICKET="hunter2", OPENAI_API_KEY="hunter2")
    assert "hunter2" not in repr(settings) + str(settings)
    with pytest.raises(SettingsError) as caught:
        loaded(VM_TOKEN="hunter2" * 10_000)
    assert "hunter2" not in str(caught.value)


def test_roots_come_from_flags_or_as_in_path_and_lead_where_their_links_do(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "b")
    real = [(tmp_path / name).resolve() for name in ("a", "b")]
    assert loaded().roots == []
    assert loaded(TRUNKLINE_NODE_ROOTS=f"{tmp_path / 'a'}:{tmp_path / 'link'}:").roots == real
    flags = {"roots": [tmp_path / "b"]}
    env = ENV | {"TRUNKLINE_NODE_ROOTS": str(tmp_path / "a")}
    assert NodeSettings.from_env(env, flags).roots == real[1:]


@pytest.mark.parametrize("name", ["missing", "file", "loop"])
def test_a_root_that_is_no_folder_is_refused_by_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(SettingsError, match=name):
        loaded(TRUNKLINE_NODE_ROOTS=str(tmp_path / name))
