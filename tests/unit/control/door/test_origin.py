"""Which hosts and origins are let in (`control/door/origin.py`)."""

import pytest

from trunkline.control.door.origin import (
    check_host,
    check_origin,
    cors_headers,
    preflight_headers,
)
from trunkline.control.errors import Forbidden
from trunkline.control.settings import Settings

LOOPBACK = Settings()
OPEN = Settings(host="0.0.0.0", public_url="https://trunk.example.org")
NAMED = Settings(host="trunk.lan")
FRIENDLY = Settings(allowed_origins="https://app.example.org, http://localhost:3000/")


@pytest.mark.parametrize(
    ("settings", "host"),
    [
        (LOOPBACK, "localhost"),
        (LOOPBACK, "localhost:8080"),
        (LOOPBACK, "LOCALHOST:9999"),
        (LOOPBACK, "127.0.0.1:8080"),
        (LOOPBACK, "[::1]:8080"),
        (LOOPBACK, None),
        (OPEN, "192.168.1.7:8080"),
        (OPEN, "[2001:db8::1]:8080"),
        (OPEN, "trunk.example.org"),
        (OPEN, "trunk.example.org:443"),
        (OPEN, "localhost:8080"),
        (NAMED, "trunk.lan:8080"),
    ],
)
def test_our_own_names_are_answered_at_any_port(settings: Settings, host: str | None) -> None:
    check_host(host, settings)


@pytest.mark.parametrize(
    ("settings", "host"),
    [
        (LOOPBACK, "evil.example"),
        (LOOPBACK, "evil.example:8080"),
        (LOOPBACK, "localhost.evil.example"),
        (LOOPBACK, "127.0.0.1.evil.example"),
        (LOOPBACK, "192.168.1.7"),
        (LOOPBACK, ""),
        (LOOPBACK, "localhost@evil.example"),
        (LOOPBACK, "evil.example/localhost"),
        (LOOPBACK, "localhost:99999999"),
        (LOOPBACK, "[::1"),
        (OPEN, "evil.example"),
        (OPEN, "trunk.example.org.evil.example"),
        (OPEN, "0x7f000001"),
        (NAMED, "other.lan"),
    ],
)
def test_a_name_that_is_not_ours_is_refused(settings: Settings, host: str) -> None:
    with pytest.raises(Forbidden) as refused:
        check_host(host, settings)
    assert refused.value.code == "HOST_REFUSED"


@pytest.mark.parametrize(
    ("settings", "origin", "host"),
    [
        (LOOPBACK, None, "localhost:8080"),
        (LOOPBACK, "http://localhost:8080", "localhost:8080"),
        (LOOPBACK, "http://127.0.0.1:8080", "127.0.0.1:8080"),
        (LOOPBACK, "http://[::1]:8080", "[::1]:8080"),
        (LOOPBACK, "http://localhost", "localhost:80"),
        (OPEN, "https://192.168.1.7", "192.168.1.7"),
        # A proxy that rewrites Host: the public address is ours all the same.
        (OPEN, "https://trunk.example.org", "127.0.0.1:8080"),
        (FRIENDLY, "https://app.example.org", "localhost:8080"),
        (FRIENDLY, "http://localhost:3000", "localhost:8080"),
    ],
)
def test_own_and_allowed_pages_may_call(settings: Settings, origin: str | None, host: str) -> None:
    check_origin(origin, host, settings)


@pytest.mark.parametrize(
    ("settings", "origin", "host"),
    [
        (LOOPBACK, "https://evil.example", "localhost:8080"),
        (LOOPBACK, "http://localhost:3000", "localhost:8080"),
        (LOOPBACK, "http://127.0.0.1:8080", "localhost:8080"),
        (LOOPBACK, "null", "localhost:8080"),
        (LOOPBACK, "", "localhost:8080"),
        (LOOPBACK, "http://localhost:8080", None),
        (LOOPBACK, "http://localhost:8080/path", "localhost:8080"),
        (LOOPBACK, "http://me@localhost:8080", "localhost:8080"),
        (LOOPBACK, "file://localhost:8080", "localhost:8080"),
        (LOOPBACK, "http://localhost:99999999", "localhost:8080"),
        (LOOPBACK, "http://[", "localhost:8080"),
        (FRIENDLY, "http://app.example.org", "localhost:8080"),
        (FRIENDLY, "https://app.example.org.evil.example", "localhost:8080"),
        (Settings(allowed_origins="null,"), "null", "localhost:8080"),
    ],
)
def test_any_other_page_is_refused(settings: Settings, origin: str, host: str | None) -> None:
    with pytest.raises(Forbidden) as refused:
        check_origin(origin, host, settings)
    assert refused.value.code == "ORIGIN_REFUSED"


def test_only_an_allowed_origin_may_read_answers_and_never_with_the_cookie() -> None:
    allowed = preflight_headers("https://app.example.org", FRIENDLY)
    assert allowed["Access-Control-Allow-Origin"] == "https://app.example.org"
    assert "PATCH" in allowed["Access-Control-Allow-Methods"]
    assert "Access-Control-Allow-Credentials" not in allowed
    assert cors_headers("https://app.example.org", FRIENDLY)["Vary"] == "Origin"
    assert preflight_headers("https://evil.example", FRIENDLY) == {}
    assert cors_headers("http://localhost:8080", LOOPBACK) == {}
    assert cors_headers(None, FRIENDLY) == {}
