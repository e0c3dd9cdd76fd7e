"""How many connections there may be, and who makes room."""

import asyncio
from typing import Any

import pytest
from multidict import CIMultiDict

from tests.support.clock import Clock
from trunkline.control.door.connections import Connections
from trunkline.control.errors import LimitReached
from trunkline.control.settings import Settings

OFFICE, ATTACKER = "198.51.100.4", "203.0.113.9"


class Peer(asyncio.Transport):
    """The other end, as far as it is looked at."""

    def __init__(self, address: str) -> None:
        super().__init__({"peername": (address, 4711)})
        self.is_gone = False
        self.unread = 0

    def is_closing(self) -> bool:
        return self.is_gone

    def abort(self) -> None:
        self.is_gone = True

    def get_write_buffer_size(self) -> int:
        return self.unread


def opened(connections: Connections, *addresses: str) -> list[Peer]:
    peers = [Peer(address) for address in addresses]
    for peer in peers:
        connections.opened(peer)
    return peers


def bounded(**settings: Any) -> tuple[Connections, Clock]:
    clock = Clock()
    return Connections(Settings(**settings), clock), clock


def gone(peers: list[Peer]) -> list[bool]:
    return [peer.is_gone for peer in peers]


def test_the_oldest_stranger_of_an_address_makes_room_for_its_next_connection() -> None:
    connections, _ = bounded(connections_per_address_max=2)
    office = opened(connections, OFFICE)
    first, second, third = opened(connections, *[ATTACKER] * 3)
    assert gone([*office, first, second, third]) == [False, True, False, False]
    connections.known(second)
    opened(connections, ATTACKER)
    assert gone([second, third]) == [False, True]


def test_known_connections_are_never_cut_and_a_new_one_is_refused_instead() -> None:
    connections, _ = bounded(connections_max=3)
    known = opened(connections, OFFICE, OFFICE, ATTACKER)
    for peer in known:
        connections.known(peer)
    with pytest.raises(LimitReached):
        opened(connections, OFFICE)
    known[1].is_gone = True
    opened(connections, OFFICE)
    assert gone(known) == [False, True, False]
    assert (connections.refused, connections.made_room, len(connections)) == (1, 0, 3)


def test_a_persons_connections_have_a_bound_of_their_own() -> None:
    connections, _ = bounded(connections_per_user_max=2)
    first, second, third, machine = opened(connections, *[OFFICE] * 4)
    for peer in (first, second, first, second):  # each request says it again
        connections.known(peer, "ada")
    with pytest.raises(LimitReached, match="close some first"):
        connections.known(third, "ada")
    connections.known(third, "bob")
    connections.known(machine)
    connections.known(second, "bob")  # somebody else's secret on the same connection
    (fourth,) = opened(connections, OFFICE)
    connections.known(fourth, "ada")
    first.is_gone = True
    (fifth,) = opened(connections, OFFICE)
    connections.known(fifth, "ada")
    assert gone([second, third, fourth, fifth, machine]) == [False] * 5


def test_what_has_closed_by_itself_leaves_room_and_nobody_is_cut_for_it() -> None:
    connections, clock = bounded(connections_max=3)
    peers = opened(connections, OFFICE, ATTACKER, ATTACKER)
    peers[2].is_gone = True
    clock.now += 1
    opened(connections, OFFICE)
    assert gone(peers) == [False, False, True]
    assert connections.made_room == 0


def test_this_host_and_a_named_proxy_may_have_many_and_those_behind_it_may_not() -> None:
    connections, _ = bounded(connections_per_address_max=1, trusted_proxies="10.0.0.1")
    assert not any(gone(opened(connections, *["127.0.0.1"] * 5, *["10.0.0.1"] * 5)))
    behind = opened(connections, *["10.0.0.1"] * 2)
    for peer in behind:
        connections.arrived(peer, CIMultiDict([("X-Forwarded-For", ATTACKER)]))
    assert gone(behind) == [True, False]
    local = opened(connections, *["127.0.0.1"] * 2)
    for peer in local:  # what this host says of others is not believed
        connections.arrived(peer, CIMultiDict([("X-Forwarded-For", ATTACKER)]))
    assert gone(local) == [False, False]


def test_a_stranger_that_does_not_read_is_cut_and_one_that_reads_slowly_is_not() -> None:
    connections, clock = bounded()
    deaf, slow, known = opened(connections, OFFICE, OFFICE, OFFICE)
    connections.known(known)
    for second in range(60):
        deaf.unread = known.unread = 1000
        slow.unread = 1000 if second % 10 else 0
        clock.now += 1
        connections.sweep()
    assert gone([deaf, slow, known]) == [True, False, False]


def test_a_sweep_forgets_what_has_closed() -> None:
    connections, _ = bounded()
    peers = opened(connections, *[f"203.0.113.{number}" for number in range(100)])
    for peer in peers[1:]:
        peer.is_gone = True
    connections.sweep()
    assert len(connections) == 1
