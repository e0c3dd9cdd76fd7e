"""`python -m bench`: run the suite and write `bench/RESULTS.md`.

Exit codes: 0 the run is complete, 1 something failed (or, with `--check`, a target was missed),
2 usage.
"""

import argparse
import dataclasses
import signal
import sys
from pathlib import Path

from bench.machine import facts
from bench.report import render, verdicts
from bench.scenarios import QUICK, Sizes
from bench.sides.aiohttp_relay import AiohttpRelay
from bench.sides.base import Side
from bench.sides.nchan import INSTALL_HINT, Nchan
from bench.sides.passthrough import Passthrough
from bench.sides.trunkline import DaemonPath, Trunkline
from bench.suite import IDLE_SCENARIOS, LOCAL_SCENARIOS, ROUND_SCENARIOS, Suite

RESULTS = Path(__file__).parent / "RESULTS.md"
SCENARIOS = (*ROUND_SCENARIOS, *IDLE_SCENARIOS, *LOCAL_SCENARIOS)


def main() -> int:
    """Parse the command line, run, report."""
    options = _parse()
    # So that the servers are stopped on the way out, as after Ctrl-C.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    sides = _sides(options.sides)
    sizes = QUICK if options.quick else Sizes()
    if options.rounds:
        sizes = dataclasses.replace(sizes, rounds=options.rounds)
    machine = facts()
    results = Suite(sides, set(options.only), sizes, _say).run()
    page = render(results, machine, sizes.rounds)
    print(page)
    if options.output:
        options.output.write_text(page)
    elif not options.quick:
        RESULTS.write_text(page)
    missed = [verdict for verdict in verdicts(results) if verdict.met is False]
    return 1 if results.failures or (options.check and missed) else 0


def _sides(names: list[str]) -> list[Side]:
    sides: list[Side] = [Trunkline(), DaemonPath(), AiohttpRelay(), Passthrough()]
    if Nchan.available():
        sides[2:2] = [Nchan(), Nchan(replies=True)]
    else:
        _say(f"nchan is not installed and is left out; to compare with it: {INSTALL_HINT}")
    return [side for side in sides if not names or side.name.split(",")[0] in names]


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
        choices=(Trunkline.name, "nchan", AiohttpRelay.name, Passthrough.name),
        default=[],
    )
    parser.add_argument("--output", type=Path, help="write the page here")
    parser.add_argument("--check", action="store_true", help="exit 1 when a target is missed")
    return parser.parse_args()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
