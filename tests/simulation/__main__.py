"""`python -m tests.simulation --seeds 10000`: run many; `--seed 7 --trace`: replay one.

Exit codes: 0 all hold, 1 a seed fails.
"""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from tests.simulation.runner import command, first_failure, replay


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10_000, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--seed", type=int, help="run this one alone, and show what happens")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    if options.seed is not None:
        problem, trace = replay(options.seed)
        print("\n".join(trace))
        print(problem or "all invariants hold")
        return 1 if problem else 0
    started = time.monotonic()
    size = max(1, options.seeds // (options.processes * 8))
    starts = range(options.first, options.first + options.seeds, size)
    end = options.first + options.seeds
    with ProcessPoolExecutor(options.processes) as pool:
        parts = pool.map(first_failure, starts, [min(one + size, end) for one in starts])
        failures = [one for one in parts if one is not None]
    for seed, problem in failures:
        print(command(seed, problem))
    took = time.monotonic() - started
    print(f"{options.seeds} seeds, {len(failures)} parts with a failure, {took:.1f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
