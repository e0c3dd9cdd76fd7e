"""Who is told of a change of rules, when the database does not answer at first."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from sqlalchemy.exc import OperationalError

from trunkline.control.machines.machine import Machine
from trunkline.control.machines.machines import Machines
from trunkline.control.services.rules import Rule, Rules
from trunkline.control.sessions.ruling import Ruling
from trunkline.control.tasks import Tasks


class Failing:
    """Records of one rule and three sessions; every other read fails."""

    def __init__(self, rule: Rule) -> None:
        self.on_change: list[Any] = []
        self.rule = rule
        self.reads = 0

    async def sessions_of(self, _: Rule) -> list[tuple[str, str]]:
        self._read()
        return [("one", "m"), ("two", "m"), ("three", "m")]

    async def of_session(self, _: str) -> list[Rule]:
        self._read()
        return [self.rule]

    def _read(self) -> None:
        self.reads += 1
        if self.reads % 2:
            raise OperationalError("SELECT", {}, Exception("database is locked"))


class Told:
    """In place of a machine, and of its core."""

    def __init__(self) -> None:
        self.logs = {"one": None, "two": None, "three": None}
        self.rules: list[tuple[str, list[Any]]] = []

    @contextmanager
    def input(self) -> Iterator["Told"]:
        yield self

    def rule(self, session_id: str, rules: list[Any]) -> None:
        self.rules.append((session_id, rules))


async def test_a_read_that_fails_keeps_no_session_from_its_rules() -> None:
    rule = Rule(
        id="r",
        org_id="o",
        user_id=None,
        effect="deny",
        rule="bash(rm *)",
        created_by="u",
        created_at=1,
    )
    machine, tasks = Told(), Tasks()

    class Holders:
        def holder(self, _session_id: str, _machine_id: str) -> Told:
            return machine

    rules = Failing(rule)
    made = Ruling(cast(Rules, rules), cast(Machines, Holders()), tasks, again_s=0)
    expected = [(one, [rule.told]) for one in ("one", "two", "three")]
    [changed] = rules.on_change
    await changed(rule)
    await tasks.done()
    assert machine.rules == expected
    made.returned(cast(Machine, machine))
    await tasks.done()
    assert machine.rules == expected * 2
