"""What a line of the log may hold."""

from trunkline.log_form import one_line


def test_a_line_stays_one_line_and_moves_no_terminal() -> None:
    hostile = "a\nb\r\x1b[2J\x00\x85\u2028\u202e\ud800é中"
    shown = one_line(hostile)
    assert shown == "a\\nb\\r\\x1b[2J\\x00\\x85\\u2028\\u202e\\ud800é中"
    assert len(shown.splitlines()) == 1
