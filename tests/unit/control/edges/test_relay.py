"""What belongs to no session reaches the clients of that user and protocol, and nobody else."""

from trunkline.control.edges.relay import Relay


def test_a_message_reaches_every_listener_of_its_user_and_protocol() -> None:
    relay, heard = Relay(), []
    relay.listen("yeaft", "ann", lambda machine, text: heard.append(("one", machine, text)))
    relay.listen("yeaft", "ann", lambda machine, text: heard.append(("two", machine, text)))
    relay.listen("yeaft", "bob", lambda machine, text: heard.append(("bob", machine, text)))
    relay.listen("other", "ann", lambda machine, text: heard.append(("other", machine, text)))
    assert relay.publish("yeaft", "ann", "m", "{}") == 2
    assert heard == [("one", "m", "{}"), ("two", "m", "{}")]


def test_a_listener_that_left_hears_nothing() -> None:
    relay, heard = Relay(), []

    def listener(_machine: str, text: str) -> None:
        heard.append(text)

    relay.listen("yeaft", "ann", listener)
    relay.leave("yeaft", "ann", listener)
    relay.leave("yeaft", "ann", listener)
    assert relay.publish("yeaft", "ann", "m", "{}") == 0
    assert heard == []


def test_a_watcher_hears_all_users_of_its_protocol_whether_a_client_listens_or_not() -> None:
    relay, heard = Relay(), []
    relay.watch("yeaft", lambda machine, text: heard.append((machine, text)))
    relay.listen("yeaft", "ann", lambda _machine, _text: None)
    assert relay.publish("yeaft", "ann", "m1", "{}") == 1
    assert relay.publish("yeaft", "bob", "m2", "[]") == 0
    assert relay.publish("other", "bob", "m3", "[]") == 0
    assert heard == [("m1", "{}"), ("m2", "[]")]
