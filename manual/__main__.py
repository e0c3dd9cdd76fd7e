"""`python -m manual [FOLDER]`: builds the site into `site/`, or into that folder."""

import argparse
import sys
from pathlib import Path

from manual.build import Broken, build
from manual.staging import REPOSITORY


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m manual", description="Builds the manual.")
    usual = REPOSITORY.root / "site"
    parser.add_argument(
        "folder", nargs="?", type=Path, default=usual, help="where the site goes (site/)"
    )
    folder = parser.parse_args().folder
    try:
        pages = build(folder)
    except Broken as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{pages} pages in {folder}; to read them: python -m http.server -d {folder}")
    return 0


sys.exit(main())
