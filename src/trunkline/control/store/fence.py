"""Who may write a database: the control plane that opened it last.

Each one raises a number, the epoch, and every transaction looks whether it still stands. So one
that was taken for dead, and is not, cannot write late, whatever it believes of itself. In
PostgreSQL, who raises it waits for those who have looked, and who looks later sees it raised.
"""

from trunkline.control.errors import Overtaken

NODE = "embedded"
"""Who writes the journal. There is one control plane, and nobody that could take its place but
itself."""


def raising(at_least: int) -> str:
    """The statement. `at_least`: the time in ms; a database that was put back by its own tools has
    an older number, and counting on from there would give one that somebody else has."""
    return (
        f"INSERT INTO nodes (node, epoch) VALUES ('{NODE}', {at_least:d})"  # noqa: S608
        " ON CONFLICT (node) DO UPDATE SET epoch = CASE WHEN nodes.epoch < excluded.epoch"
        " THEN excluded.epoch ELSE nodes.epoch + 1 END RETURNING epoch"
    )


def overtaken() -> Overtaken:
    return Overtaken("another control plane has taken over the database: this one writes no more")
