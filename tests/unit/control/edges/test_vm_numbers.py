"""A machine's numbers: each event is taken once, and what is skipped is told exactly."""

import json

from trunkline.control.edges.semibot.numbers import is_new, told_of
from trunkline.control.log.session_log import SessionLog
from trunkline.control.log.store import Head


def test_each_number_is_taken_once_and_a_gap_is_told_before_what_is_behind_it() -> None:
    log, lost = SessionLog("s", Head(0, None)), []
    for seq, is_taken in [(1, True), (2, True), (2, False), (1, False), (6, True), (7, True)]:
        known = log.machine_seq or 0
        assert is_new(log, seq, lambda *gap: lost.append(gap)) is is_taken
        assert log.machine_seq == max(known, seq)
    assert lost == [(log, 2, 6)]


def test_the_first_number_may_be_behind_a_gap_too() -> None:
    log, lost = SessionLog("s", Head(0, None)), []
    is_new(log, 3, lambda *gap: lost.append(gap))
    assert lost == [(log, 0, 3)]


def test_what_is_told_is_how_many_were_between() -> None:
    told = json.loads(told_of(2, 6, 1_000))
    assert (told["type"], told["lost_events"], told["ts"]) == ("session_status", 3, 1_000)
