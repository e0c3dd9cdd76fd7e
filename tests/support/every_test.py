"""Every test side by side, and the few that failed once more, alone: `make test` runs this.

`python -m tests.support.every_test ARGUMENTS` is `pytest ARGUMENTS`. Among fourteen thousand tests
of real programs on a busy machine, one may come too late for no fault of what it tests. It is run
again when nothing else runs; what passes then is named in the last lines, because it is to be
mended: a race in a test, or one in Trunkline that hides from a quick look. Whoever fails alone
fails the run, and so do many: that is no neighbour's doing.
"""

import json
import subprocess
import sys
from pathlib import Path

FEW_MAX = 5
_SOME_FAILED = 1  # of pytest's exit codes; an interruption is another
_LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")
_SIDE_BY_SIDE = {"-n", "--dist", "--max-worker-restart"}


def main(arguments: list[str]) -> int:
    code = _pytest("--cache-clear", *arguments)
    failed = _failed() if code == _SOME_FAILED else []
    is_whole = all("::" in one for one in failed)  # else a file could not be read
    if not failed or not is_whole or len(failed) > FEW_MAX:
        return code
    print(
        f"\n{len(failed)} failed beside others; once more, alone:", *failed, sep="\n  ", flush=True
    )
    if code := _pytest("--last-failed", *_alone(arguments)):
        return code
    print("\nPassed alone, and to be mended all the same:", *failed, sep="\n  ", flush=True)
    return 0


def _pytest(*arguments: str) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


def _failed() -> list[str]:
    return sorted(json.loads(_LAST_FAILED.read_text())) if _LAST_FAILED.exists() else []


def _alone(arguments: list[str]) -> list[str]:
    """Without what spreads tests over processes."""
    kept: list[str] = []
    is_value = False
    for one in arguments:
        if not is_value and one.partition("=")[0] not in {*_SIDE_BY_SIDE, "--no-loadscope-reorder"}:
            kept.append(one)
        is_value = one in _SIDE_BY_SIDE
    return kept


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
