"""`python -m manual [FOLDER]`: builds the site into `site/`, or into that folder."""

import sys
from pathlib import Path

from manual.build import Broken, build
from manual.staging import REPOSITORY


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else REPOSITORY.root / "site"
    try:
        pages = build(folder)
    except Broken as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{pages} pages in {folder}; to read them: python -m http.server -d {folder}")
    return 0


sys.exit(main())
