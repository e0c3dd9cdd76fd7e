"""Which machine a session is given that names none (`control/sessions/picking.py`)."""

import pytest

from trunkline.control.errors import Conflict, TrunklineError, Unavailable
from trunkline.control.sessions.picking import Candidate, Default, pick

LACKS = Conflict("no such program", code="RUNTIME_UNSUPPORTED")
DRAINED = Conflict("it is drained", code="MACHINE_DRAINING")

LAPTOP = Candidate("l", "laptop", is_online=True, sessions=3)
DESK = Candidate("d", "desk", is_online=True, sessions=1)
PHONE = Candidate("p", "phone", is_online=True, is_plane=False)
AWAY = Candidate("a", "away", is_online=False)


@pytest.mark.parametrize(
    ("candidates", "default", "name", "code", "reason"),
    [
        ([LAPTOP], None, "laptop", "only_online", "it is the only one online"),
        ([AWAY, LAPTOP], None, "laptop", "only_online", "it is the only one online"),
        ([LAPTOP, DESK, PHONE], None, "desk", "fewest_sessions", "it has the fewest sessions of"),
        ([LAPTOP, DESK], Default("l", "laptop"), "laptop", "default", "it is your default machine"),
        ([LAPTOP], Default("l", "laptop"), "laptop", "default", "it is your default machine"),
        (
            [LAPTOP, DESK],
            Default("x", "attic"),
            "desk",
            "fewest_sessions",
            "it has the fewest sessions of the 2 that are online; your default attic is offline",
        ),
        (
            [LAPTOP, AWAY],
            Default("a", "away"),
            "laptop",
            "only_online",
            "it is the only one online; your default away is offline",
        ),
        (
            [LAPTOP, DESK._replace(problem=DRAINED)],
            Default("d", "desk"),
            "laptop",
            "only_able",
            "it is the only one online that can run acp; your default desk is being drained",
        ),
        (
            [LAPTOP, DESK._replace(problem=LACKS)],
            Default("d", "desk"),
            "laptop",
            "only_able",
            "it is the only one online that can run acp; your default desk cannot run it",
        ),
        (
            [LAPTOP],
            Default("x", None),
            "laptop",
            "only_online",
            "it is the only one online; your default was given up",
        ),
        (
            [AWAY],
            None,
            "away",
            "expected",
            "no machine of yours is online, and this one is expected back",
        ),
        (
            [AWAY, AWAY._replace(id="b", name="back")],
            Default("b", "back"),
            "back",
            "expected",
            "no machine of yours is online, and this one is expected back",
        ),
        (
            [LAPTOP._replace(problem=LACKS), AWAY],
            Default("a", "away"),
            "away",
            "expected",
            "none that can run it is online, and this one is expected back",
        ),
    ],
)
def test_the_default_else_the_one_with_the_least_to_do_and_why(
    candidates: list[Candidate], default: Default | None, name: str, code: str, reason: str
) -> None:
    found = pick(candidates, default, "acp")
    assert (found.machine_name, found.code) == (name, code)
    assert found.reason.startswith(reason)


@pytest.mark.parametrize(
    ("candidates", "code"),
    [
        ([], "NO_MACHINE"),
        ([LAPTOP._replace(problem=LACKS)], "RUNTIME_UNSUPPORTED"),
        ([AWAY._replace(problem=LACKS), LAPTOP._replace(problem=DRAINED)], "MACHINE_DRAINING"),
        ([AWAY, LAPTOP._replace(problem=LACKS)], "RUNTIME_UNSUPPORTED"),
    ],
)
def test_none_that_can_is_told_with_what_speaks_against_one_that_is_there(
    candidates: list[Candidate], code: str
) -> None:
    with pytest.raises((TrunklineError, Unavailable)) as refused:
        pick(candidates, Default("l", "laptop"), "acp")
    assert refused.value.code == code


def test_one_that_never_came_is_not_offered_and_is_waited_for_last() -> None:
    new, here = AWAY._replace(id="n", name="new", has_come=False), LAPTOP._replace(problem=LACKS)
    with pytest.raises(Conflict) as refused:
        pick([new, here], None, "acp")
    assert refused.value.message == "no such program"
    with pytest.raises(Conflict, match="your machine away is offline"):
        pick([new, AWAY, here], None, "acp")
    assert pick([new, AWAY], None, "acp").machine_name == "away"
    assert pick([new], None, "acp").machine_name == "new"


def test_one_that_is_away_and_could_is_named_and_not_waited_for() -> None:
    with pytest.raises(Conflict) as refused:
        pick([AWAY, LAPTOP._replace(problem=LACKS)], None, "acp")
    assert refused.value.message.startswith("no such program; your machine away is offline")
