"""Settings: where a value comes from, and what is refused at the start."""

from pathlib import Path

import pytest

from trunkline.control.errors import InvalidRequest
from trunkline.control.settings import Settings, load


def loaded(**env: str) -> Settings:
    return load(env={f"TRUNKLINE_{name.upper()}": value for name, value in env.items()})


@pytest.mark.proves("003-1-port-8080")
def test_the_port_is_the_documents_unless_told_otherwise() -> None:
    assert load(env={}).port == 8080


def test_a_flag_comes_before_the_environment_and_that_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "trunkline.toml"
    file.write_text('port = 1\nhost = "file"\nlog_level = "error"\n')
    env = {"TRUNKLINE_PORT": "2", "TRUNKLINE_HOST": "env"}
    settings = load({"port": 3, "host": None}, env, file)
    assert (settings.port, settings.host, settings.log_level) == (3, "env", "error")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://trunk.example.org", "https://trunk.example.org"),
        ("https://trunk.example.org/", "https://trunk.example.org"),
        ("http://10.0.0.7:8080//", "http://10.0.0.7:8080"),
        ("https://example.org/trunk/", "https://example.org/trunk"),
        ("http://[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_paths_can_be_added_to_the_public_address(given: str, kept: str) -> None:
    assert loaded(public_url=given).public_url == kept


@pytest.mark.parametrize(
    "url",
    [
        *("", "/", "trunk.example.org", "trunk.example.org:8080", "//trunk.example.org"),
        *("ftp://trunk.example.org", "https://", "https:///path", "https://:8080", "http://[::1"),
        *("https://a:b@trunk.example.org", "https://trunk.example.org?x=1", "http://x:99999"),
        *("https://trunk.example.org#x", "http://a b", "http://a\nb", "http://x:0", "http://x:y"),
    ],
)
def test_a_public_address_that_would_fail_later_is_refused_at_the_start(url: str) -> None:
    with pytest.raises(InvalidRequest, match="public_url") as caught:
        loaded(public_url=url)
    assert caught.value.code == "INVALID_SETTINGS"


@pytest.mark.parametrize("hosts", ["10.0.0.0/99", "internal, ::1/200", "name/8"])
def test_a_network_that_is_none_is_refused_at_the_start(hosts: str) -> None:
    with pytest.raises(InvalidRequest, match="mcp_allowed_hosts") as caught:
        loaded(mcp_allowed_hosts=hosts)
    assert caught.value.code == "INVALID_SETTINGS"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("port", "-1"), ("port", "65536"), ("port", "many"), ("log_sync", "maybe")),
        *(("log_level", "loud"), ("admin_token", "short"), ("bus_url", "nats://x")),
        *(("machine_away_s", "-1"), ("machine_away_s", "nan"), ("vm_connect_timeout_s", "0")),
    ],
)
def test_a_value_out_of_range_is_refused_with_its_name(name: str, value: str) -> None:
    with pytest.raises(InvalidRequest, match=name) as caught:
        loaded(**{name: value})
    assert caught.value.code == "INVALID_SETTINGS"


def test_a_name_that_is_no_setting_is_refused_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "trunkline.toml"
    file.write_text("prot = 1\n")
    with pytest.raises(InvalidRequest, match="prot"):
        load(env={}, file=file)
