"""Lines about refused handshakes are bounded, and none is lost without a word."""

from structlog.testing import capture_logs

from tests.support.clock import Clock
from trunkline.control.door.handshake_log import LINES_PER_MINUTE_MAX, HandshakeLog
from trunkline.control.errors import Unauthorized

NO_TOKEN = Unauthorized("a bearer token or a login is needed")


def test_a_flood_on_one_wire_is_summed_up_and_hides_no_other() -> None:
    clock = Clock()
    log = HandshakeLog(clock)
    with capture_logs() as lines:
        for _ in range(LINES_PER_MINUTE_MAX + 7):
            log.refused("sse", "/api/v1/stream", NO_TOKEN)
        log.refused("myagent", "/ws/myagent", NO_TOKEN)
    assert [one["wire"] for one in lines] == ["sse"] * LINES_PER_MINUTE_MAX + ["myagent"]
    clock.now += 61
    with capture_logs() as lines:
        log.sweep()
        log.sweep()
        log.refused("sse", "/api/v1/stream", NO_TOKEN)
    assert [(one["event"], one["wire"]) for one in lines] == [
        ("more clients were not let in", "sse"),
        ("a client was not let in", "sse"),
    ]
    assert lines[0]["count"] == 7


def test_what_the_other_side_has_chosen_is_short_and_of_one_line() -> None:
    with capture_logs() as lines:
        HandshakeLog().refused("http", "/\n" * 9000, Unauthorized("no\x1b[2J" * 9000))
    [line] = lines
    assert len(line["path"]) == len(line["reason"]) == 200
    assert (line["path"] + line["reason"]).isprintable()
