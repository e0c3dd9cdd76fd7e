"""`python -m bench`: run the suite and write `bench/RESULTS.md`.

Exit codes: 0 the run is complete, 1 something failed (or, with `--check`, a target was missed),
2 usage.
"""

import argparse
import dataclasses
import signal
import sys
from pathlib import Path

from bench.budgets import CROWD_LINES
from bench.machine import facts
from bench.report import render, verdicts
from bench.scenarios import QUICK, Sizes
from bench.sides import relays
from bench.sides.base import CrowdSide, Side
from bench.sides.crowd import CrowdedTrunkline, OnPostgres
from bench.sides.nchan import INSTALL_HINT, Nchan
from bench.sides.passthrough import Passthrough
from bench.sides.trunkline import DaemonPath, Trunkline
from bench.suite import (
    CROWD_SCENARIOS,
    IDLE_SCENARIOS,
    LOCAL_SCENARIOS,
    ROUND_SCENARIOS,
    Suite,
)

RESULTS = Path(__file__).parent / "RESULTS.md"
SCENARIOS = (*ROUND_SCENARIOS, *CROWD_SCENARIOS, *IDLE_SCENARIOS, *LOCAL_SCENARIOS)


def main() -> int:
    """Parse the command line, run, report."""
    options = _parse()
    # So that the servers are stopped on the way out, as after Ctrl-C.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    wanted = set(options.only)
    sides = _sides(options.sides)
    crowd_sides = _crowd_sides(options.sides) if wanted.intersection(CROWD_SCENARIOS) else []
    sizes = QUICK if options.quick else Sizes()
    if options.rounds:
        sizes = dataclasses.replace(sizes, rounds=options.rounds)
    machine = facts()
    results = Suite(sides, crowd_sides, wanted, sizes, _say).run()
    if options.quick and crowd_sides:
        results.notes.append(
            f"A quick run: the crowd had {sizes.crowd_lines:,} lines, not {CROWD_LINES:,}, at "
            f"{sizes.crowd_events_per_s:,} events/s, and the herd {sizes.herd_lines:,} lines."
        )
    page = render(results, machine, sizes.rounds)
    print(page)
    if options.output:
        options.output.write_text(page)
    elif not options.quick:
        RESULTS.write_text(page)
    missed = [verdict for verdict in verdicts(results) if verdict.met is False]
    return 1 if results.failures or (options.check and missed) else 0


def _sides(names: list[str]) -> list[Side]:
    sides: list[Side] = [Trunkline(), DaemonPath(), relays.aiohttp_relay(), Passthrough()]
    if Nchan.available():
        sides[2:2] = [Nchan(), Nchan(replies=True)]
    else:
        _say(f"nchan is not installed and is left out; to compare with it: {INSTALL_HINT}")
    return [side for side in sides if _is_wanted(side, names)]


def _crowd_sides(names: list[str]) -> list[CrowdSide]:
    sides: list[CrowdSide] = [CrowdedTrunkline(), OnPostgres(), relays.starlette_relay()]
    if Nchan.available():
        sides += [Nchan(), Nchan(replies=True)]
    if reason := relays.why_no_node():
        _say(f"{relays.NODE} is left out: {reason}")
    else:
        sides.append(relays.node_relay())
    return [side for side in (*sides, Passthrough()) if _is_wanted(side, names)]


def _is_wanted(side: Side, names: list[str]) -> bool:
    return not names or side.name.split(",")[0] in names


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="The relay side by side with its peers, on loopback.",
        epilog="example: python -m bench --quick --only relay latency",
    )
    parser.add_argument("--quick", action="store_true", help="one short round; prints only")
    parser.add_argument("--rounds", type=int, choices=range(1, 51), metavar="N")
    parser.add_argument("--only", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument(
        "--sides",
        nargs="+",
        choices=(
            Trunkline.name,
            "nchan",
            relays.AIOHTTP,
            relays.STARLETTE,
            relays.NODE,
            Passthrough.name,
        ),
        default=[],
    )
    parser.add_argument("--output", type=Path, help="write the page here")
    parser.add_argument("--check", action="store_true", help="exit 1 when a target is missed")
    return parser.parse_args()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
