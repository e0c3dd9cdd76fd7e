"""The machines that there are: every combination of traits."""

from tests.simulation.dialects import (
    AgpDialect,
    DeployedDialect,
    Dialect,
    UnlistedDialect,
    YeaftDialect,
)
from trunkline.control.machines.traits import KINDS, Traits


class Style:
    """What kind of machine it is."""

    def __init__(
        self,
        name: str,
        kind: str = "vm",
        *,
        numbers: bool = False,
        keeps: bool = False,
        lists: bool = True,
        names: bool = False,
        asks: bool = True,
        steers: bool = False,
        rules: bool = False,
        outbox_max: int | None = None,
        dialect: type[Dialect] = Dialect,
    ) -> None:
        self.name = name
        self.kind = kind
        self.numbers = numbers
        self.keeps = keeps
        """What it said and was told is on its disk."""
        self.lists = lists
        self.names = names
        self.asks = asks
        self.steers = steers
        self.rules = rules
        self.outbox_max = outbox_max
        """Of one session's events."""
        self.dialect = dialect

    @property
    def traits(self) -> Traits:
        """As the edge of its line says them: what an execution plane named in its first frame."""
        if self.kind != "vm":
            return KINDS[self.kind]
        return Traits(
            numbers=self.numbers, steers=self.steers, rules=self.rules, answers=self.rules
        )


STYLES = (
    Style("plain"),
    Style("plain, lists nothing", lists=False),
    Style("plain, rules", rules=True),
    Style("numbers, keeps", numbers=True, keeps=True, names=True),
    Style("numbers, keeps, steers", numbers=True, keeps=True, names=True, steers=True),
    Style(
        "numbers, keeps, steers, rules, full outbox",
        numbers=True,
        keeps=True,
        names=True,
        steers=True,
        rules=True,
        outbox_max=2,
    ),
    Style("numbers, keeps, full outbox", numbers=True, keeps=True, names=True, outbox_max=1),
    Style("numbers, keeps, names nothing", numbers=True, keeps=True),
    Style("numbers, forgets", numbers=True, names=True),
    Style("numbers, forgets, steers", numbers=True, names=True, steers=True, rules=True),
    Style("device", "agp", names=True, asks=False, dialect=AgpDialect),
    Style("agent", "yeaft", dialect=YeaftDialect),
    Style("agent, lists nothing", "yeaft", lists=False, dialect=UnlistedDialect),
    Style("deployed agent", "yeaft", dialect=DeployedDialect),
    Style("group", "group", names=True),
)
