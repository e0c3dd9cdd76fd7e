"""How a command finds its server, and whom it shows a token to."""

import json
from pathlib import Path

import pytest

from trunkline.cli.output import CommandFailed
from trunkline.cli.remote import find_server

RUNNING = "http://127.0.0.1:9000"


@pytest.fixture
def data(tmp_path: Path) -> str:
    """A folder as a running server leaves it."""
    known = {"url": RUNNING, "pid": 7, "key": "pr_key", "later": 1}
    (tmp_path / "server.json").write_text(json.dumps(known))
    (tmp_path / "admin-token").write_text("tl_folder\n")
    return str(tmp_path)


def test_the_data_folder_of_a_running_server_is_enough(data: str) -> None:
    for place in (
        find_server(None, None, data, {}),
        find_server(None, None, None, {"TRUNKLINE_DATA": data}),
    ):
        assert (place.url, place.token, place.key) == (RUNNING, "tl_folder", "pr_key")


def test_flags_win_over_the_environment_and_that_over_the_folder(data: str) -> None:
    env = {"TRUNKLINE_URL": "https://env", "TRUNKLINE_TOKEN": "tl_env"}
    place = find_server("https://flag/", "tl_flag", data, env)
    assert (place.url, place.token) == ("https://flag", "tl_flag")
    place = find_server(None, None, data, env)
    assert (place.url, place.token) == ("https://env", "tl_env")


def test_a_users_token_wins_over_the_admins(data: str) -> None:
    env = {"TRUNKLINE_TOKEN": "tl_user", "TRUNKLINE_ADMIN_TOKEN": "tl_admin"}
    assert find_server(None, None, data, env).token == "tl_user"
    del env["TRUNKLINE_TOKEN"]
    assert find_server(None, None, data, env).token == "tl_admin"


def test_the_folders_token_is_not_shown_to_another_server(data: str) -> None:
    assert find_server("https://elsewhere", None, data, {}).token is None
    assert find_server(RUNNING + "/", None, data, {}).token == "tl_folder"


def test_whoever_the_folder_names_proves_itself_before_any_token_is_shown(data: str) -> None:
    env = {"TRUNKLINE_TOKEN": "tl_env"}
    assert find_server(None, None, data, env).key == "pr_key"
    assert find_server(None, "tl_flag", data, {}).key == "pr_key"
    # A person who names both the server and the token has decided.
    assert find_server(RUNNING, "tl_flag", data, {}).key is None
    assert find_server("https://elsewhere", None, data, env).key is None


def test_a_server_that_cannot_prove_itself_is_shown_nothing(tmp_path: Path) -> None:
    (tmp_path / "server.json").write_text(json.dumps({"url": RUNNING}))
    (tmp_path / "admin-token").write_text("tl_folder")
    with pytest.raises(CommandFailed, match="start the server again"):
        find_server(None, None, str(tmp_path), {})


def test_a_variable_that_nobody_reads_is_refused_with_the_nearest() -> None:
    with pytest.raises(CommandFailed, match="did you mean 'TRUNKLINE_TOKEN'"):
        find_server(None, None, None, {"TRUNKLINE_TOKNE": "tl_x"})


@pytest.mark.parametrize("name", ["TRUNKLINE_TOKEN", "TRUNKLINE_ADMIN_TOKEN", "TRUNKLINE_PORT"])
def test_no_address_is_guessed(tmp_path: Path, name: str) -> None:
    with pytest.raises(CommandFailed, match="no server runs with this data folder"):
        find_server(None, None, str(tmp_path), {name: "9001"})


@pytest.mark.parametrize("url", ["ftp://x", "localhost:8080", "file:///etc/passwd"])
def test_only_http_addresses_are_taken(tmp_path: Path, url: str) -> None:
    with pytest.raises(CommandFailed, match="no http address"):
        find_server(url, None, str(tmp_path), {})


def test_a_damaged_server_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "server.json").write_text("{")
    with pytest.raises(CommandFailed, match=r"server\.json is damaged"):
        find_server(None, None, str(tmp_path), {})


def test_a_place_does_not_show_its_token() -> None:
    assert "tl_x" not in repr(find_server("http://x", "tl_x", None, {}))
