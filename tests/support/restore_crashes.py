"""Restores a backup over another system again and again, and dies in between: at each step in turn.

A program of its own, because it forks: `python -m tests.support.restore_crashes FOLDER`. Prints one
JSON object a death: which system the folder has, before and after the next start has taken it.
"""

import hashlib
import json
import os
import shutil
import sys
from itertools import count
from pathlib import Path

from tests.support import fresh_data
from tests.support.deaths import die_at, forked
from trunkline.control import data_folder
from trunkline.control.backup import making, restoring
from trunkline.control.settings import Settings

_NAMES = ("trunkline.db", "log.db", "keys/sealing.key", "keys/signing.pem", "keys/vapid.pem")


class _Silent:
    def tell(self, what: str) -> None: ...

    def at(self, done: int, total: int = 0) -> None: ...


def _system(folder: Path) -> str | None:
    """The same for the same system; None where it is not whole."""
    if not all((folder / name).is_file() for name in _NAMES):
        return None
    contents = (f"{name}{(folder / name).read_bytes()!r}" for name in _NAMES)
    return hashlib.sha256("".join(contents).encode()).hexdigest()


def main(folder: Path) -> None:
    saved, old, new = folder / "saved.tar", folder / "old", folder / "new"
    fresh_data.copy_to(new)
    making.make(Settings(data=str(new)), saved, now_ms=1, progress=_Silent())
    shutil.rmtree(new)
    restoring.restore(Settings(data=str(new)), saved, now_ms=1, progress=_Silent())
    shutil.copytree(new, old)
    (old / "restored.json").unlink()
    for name in _NAMES:
        with (old / name).open("ab") as file:
            file.write(b"another")
    known = {_system(old): "old", _system(new): "new", None: "none"}
    for step in count():
        place = folder / str(step)
        shutil.copytree(old, place)
        settings = Settings(data=str(place))

        def dying(place: Path = place, settings: Settings = settings, step: int = step) -> None:
            die_at(step, place)
            restoring.restore(settings, saved, now_ms=1, progress=_Silent(), replace=True)

        end = forked(dying)
        told = {"step": step, "died": os.WIFSIGNALED(end), "left": known.get(_system(place), "mix")}
        with data_folder.held(settings):
            told["then"] = known.get(_system(place), "mix")
        told["kept"] = [known.get(_system(one), "mix") for one in place.glob("replaced-*")]
        told["rest"] = [one.name for one in place.glob(".restore*")]
        told["is_noted"] = (place / "restored.json").exists()
        print(json.dumps(told), flush=True)
        shutil.rmtree(place)
        if not os.WIFSIGNALED(end):
            assert end == 0
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
