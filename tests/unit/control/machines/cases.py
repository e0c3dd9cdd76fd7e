"""Machines of every kind, and what often happens to them, for the tables over the core."""

import pytest

from tests.unit.control.machines.pure import (
    AGP,
    GROUP,
    NUMBERED,
    VM,
    YEAFT,
    Pure,
    start_of,
)
from trunkline.control.machines.traits import Traits
from trunkline.control.sessions.state import SessionState
from trunkline.wire.commands import (
    Start,
)

KINDS = pytest.mark.parametrize("traits", [VM, NUMBERED, AGP, YEAFT, GROUP])
STARTING = pytest.mark.parametrize("traits", [VM, NUMBERED])


def new_session(pure: Pure, session_id: str = "s", start: Start | None = None) -> None:
    pure.core.adopt(session_id, SessionState("m"), is_new=True, start=start)


def fetched(pure: Pure, session_id: str = "s") -> None:
    pure.core.fetched(session_id, pure.core.state.line_number, start_of(session_id))


def up(traits: Traits) -> Pure:
    """A machine that is up with a session that runs there."""
    pure = Pure(traits)
    pure.running()
    return pure


def breaks(pure: Pure) -> None:
    pure.core.line_down()
    pure.up()
    pure.core.out.clear()
