"""Whose request it is: what `X-Forwarded-For` is worth, and what is counted as one caller."""

import pytest
from multidict import CIMultiDict

from trunkline.control.door.callers import Callers, address_of, counted_as, is_forwarded
from trunkline.control.errors import InvalidRequest
from trunkline.control.settings import Settings, load

CALLERS = Callers(Settings(trusted_proxies="10.0.0.1, 192.168.0.0/16, 2001:db8::/48"))


@pytest.mark.parametrize(
    ("peer", "forwarded", "caller"),
    [
        # Nobody but a named proxy is believed.
        ("203.0.113.9", ["198.51.100.4"], "203.0.113.9"),
        ("127.0.0.1", ["198.51.100.4"], "127.0.0.1"),
        # The nearest that no named proxy has: what stands before it, its sender made up.
        ("10.0.0.1", ["198.51.100.4"], "198.51.100.4"),
        ("10.0.0.1", ["1.1.1.1, 198.51.100.4"], "198.51.100.4"),
        ("10.0.0.1", ["1.1.1.1", "198.51.100.4"], "198.51.100.4"),
        ("10.0.0.1", ["198.51.100.4, 192.168.3.4"], "198.51.100.4"),
        ("::ffff:10.0.0.1", ["198.51.100.4"], "198.51.100.4"),
        ("2001:db8::7", ["[2001:db9::1]:4711"], "2001:db9::1"),
        ("10.0.0.1", ["198.51.100.4:4711"], "198.51.100.4"),
        ("10.0.0.1", ['"198.51.100.4"'], "198.51.100.4"),
        # All are named: the first of them.
        ("10.0.0.1", ["192.168.0.9, 192.168.3.4"], "192.168.0.9"),
        # Nothing that could be read: the proxy itself.
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", [""], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.4, unknown"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.4, nonsense, 192.168.3.4"], "192.168.3.4"),
        ("10.0.0.1", ["1.1.1.1," * 2000], "10.0.0.1"),
    ],
)
def test_the_caller_is_the_nearest_address_that_is_no_named_proxys(
    peer: str, forwarded: list[str], caller: str
) -> None:
    headers = CIMultiDict([("x-forwarded-for", value) for value in forwarded])
    assert str(CALLERS.of(peer, headers)) == caller


@pytest.mark.parametrize("text", ["", "unknown", "[", "[::1", "1.2.3", "a" * 10_000, "\0", ":"])
def test_what_is_no_address_is_none(text: str) -> None:
    assert address_of(text) is None or text == "[::1"


def test_a_caller_with_a_network_of_ipv6_addresses_is_one() -> None:
    one, other = address_of("2001:db8:1:2::1"), address_of("2001:db8:1:2:ffff::9")
    assert counted_as(one) == counted_as(other)
    assert counted_as(one) != counted_as(address_of("2001:db8:1:3::1"))
    assert counted_as(address_of("203.0.113.9")) != counted_as(address_of("203.0.113.10"))


@pytest.mark.parametrize(
    "name", ["Forwarded", "via", "X-Forwarded-For", "x-forwarded-proto", "X-Real-IP"]
)
def test_a_proxys_headers_say_that_it_is_one(name: str) -> None:
    assert is_forwarded(CIMultiDict([(name, "x")]))
    assert not is_forwarded(CIMultiDict([("Host", "localhost")]))


@pytest.mark.parametrize("name", ["trusted_proxies", "metrics_allowed"])
def test_a_setting_that_is_no_address_is_refused_with_its_name(name: str) -> None:
    with pytest.raises(InvalidRequest, match=name):
        load({name: "10.0.0.1, proxy.example"}, env={})
