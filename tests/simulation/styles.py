"""The machines that there are: every combination of traits."""

from tests.simulation.dialects import (
    AgpDialect,
    DeployedDialect,
    Dialect,
    UnlistedDialect,
    YeaftDialect,
)


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
        self.dialect = dialect


STYLES = (
    Style("plain"),
    Style("plain, lists nothing", lists=False),
    Style("numbers, keeps", numbers=True, keeps=True, names=True),
    Style("numbers, keeps, steers", numbers=True, keeps=True, names=True, steers=True),
    Style("numbers, keeps, names nothing", numbers=True, keeps=True),
    Style("numbers, forgets", numbers=True, names=True),
    Style("numbers, forgets, steers", numbers=True, names=True, steers=True),
    Style("device", "agp", names=True, asks=False, dialect=AgpDialect),
    Style("agent", "yeaft", dialect=YeaftDialect),
    Style("agent, lists nothing", "yeaft", lists=False, dialect=UnlistedDialect),
    Style("deployed agent", "yeaft", dialect=DeployedDialect),
    Style("group", "group", names=True),
)
