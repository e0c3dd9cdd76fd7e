"""Runs the generator, once per language, and looks at what it made.

What is wrong fails the build: a warning of the generator (a link or an anchor that leads nowhere),
a page that is in no section, a fence that did not become code, a page that would fetch something
from elsewhere.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from manual import staging
from manual.sections import contents
from manual.staging import REPOSITORY, Tree

_BUILD_S = 300
_NAMES = {"en": "English", "zh": "中文"}
_SWITCH = {"en": ("Dark", "Light"), "zh": ("深色", "浅色")}
_STYLES = "manual.css"
_STYLE = """\
/* Markdown has no table without a head; ours leave it empty. */
.md-typeset table:not([class]) thead:not(:has(th:not(:empty))) { display: none; }
/* The copy button takes what is shown: of a console that is the commands, to be pasted. */
[data-md-copying] span:is(.gp, .go) { display: none; }
"""
_OTHER_LANGUAGE = re.compile(r'<a href="[^"]*" hreflang="(en|zh)" class="md-select__link"')
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_FETCHING = {"script": "src", "img": "src", "link": "href", "source": "srcset", "iframe": "src"}


class Broken(Exception):
    """The manual cannot be built; says why, line by line."""


def build(folder: Path, tree: Tree = REPOSITORY) -> int:
    """Both languages, into that folder; the number of pages. Raises Broken."""
    problems = _unlisted(tree)
    if problems:
        raise Broken("\n".join(problems))
    count = 0
    with tempfile.TemporaryDirectory(prefix="manual-") as temporary:
        made = Path(temporary) / "site"
        for language, into in (("en", made), ("zh", made / "zh")):
            pages = staging.sources(language, tree)
            if not pages:
                continue
            work = Path(temporary) / language
            _stage(work, pages, language, tree)
            _run(work)
            shutil.copytree(work / "site", into, dirs_exist_ok=True)
            count += len(pages)
        for page in made.rglob("*.html"):
            _keep_the_place(page, made)
        problems = [line for page in sorted(made.rglob("*.html")) for line in _look(page, made)]
        if problems:
            raise Broken("\n".join(problems))
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(made, folder)
    return count


def _unlisted(tree: Tree) -> list[str]:
    english = staging.sources("en", tree)
    listed = {page for chosen in contents(english, "en").values() for page in chosen}
    lost = [f"{page}: in no section of manual/sections.py" for page in english.keys() - listed]
    alone = [
        f"docs/zh/{page}: has no English original"
        for page in staging.sources("zh", tree).keys() - english.keys()
    ]
    return sorted(lost + alone)


def _stage(work: Path, pages: dict[str, Path], language: str, tree: Tree) -> None:
    for place, path in pages.items():
        target = work / "docs" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(staging.staged(path, place, language, tree), encoding="utf-8")
    shutil.copytree(tree.docs / "images", work / "docs" / "images")
    (work / "docs" / _STYLES).write_text(_STYLE, encoding="utf-8")
    (work / "zensical.toml").write_text(_toml(_settings(pages, language)), encoding="utf-8")


def _settings(pages: dict[str, Path], language: str) -> dict[str, Any]:
    dark, light = _SWITCH[language]
    nav = [{name: chosen} for name, chosen in contents(pages, language).items()]
    root = "./" if language == "en" else "../"
    return {
        "site_name": "Trunkline",
        "docs_dir": "docs",
        "site_dir": "site",
        "use_directory_urls": False,
        "extra_css": [_STYLES],
        "nav": nav,
        "theme": {
            "language": language,
            "font": False,
            "features": [
                "content.code.copy",
                "navigation.sections",
                "navigation.top",
                "toc.follow",
            ],
            "palette": [
                {
                    "media": f"(prefers-color-scheme: {name})",
                    "scheme": scheme,
                    "toggle": {"icon": icon, "name": label},
                }
                for name, scheme, icon, label in (
                    ("light", "default", "lucide/sun", dark),
                    ("dark", "slate", "lucide/moon", light),
                )
            ],
        },
        "extra": {
            "generator": False,
            "alternate": [
                {"name": _NAMES["en"], "link": root, "lang": "en"},
                {"name": _NAMES["zh"], "link": f"{root}zh/", "lang": "zh"},
            ],
        },
        "markdown_extensions": {
            "tables": {},
            "sane_lists": {},
            # Anchors as forges make them, so that a link works in both places.
            "toc": {
                "permalink": True,
                "slugify": {"object": "pymdownx.slugs.slugify", "kwds": {"case": "lower"}},
            },
            "pymdownx": {"highlight": {}, "superfences": {}},
        },
    }


def _run(work: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "-f", str(work / "zensical.toml")],
        cwd=work,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=_BUILD_S,
        check=False,
    )
    said = _COLOURS.sub("", done.stdout + done.stderr)
    if done.returncode or "Warning" in said:
        raise Broken(said.partition("Traceback")[0].strip() or said)


def _keep_the_place(page: Path, site: Path) -> None:
    """The switch of languages leads to the same page where the other language has it.

    With a target the generator's script leaves the link alone; it would lead to the first page.
    """
    chinese = page.is_relative_to(site / "zh")
    place = page.relative_to(site / "zh" if chinese else site)

    def link(found: re.Match[str]) -> str:
        other = (site / "zh" if found[1] == "zh" else site) / place
        if place.name == "404.html" or not other.exists():
            return found[0]
        href = Path(os.path.relpath(other, page.parent)).as_posix()
        return f'<a href="{href}" target="_self" hreflang="{found[1]}" class="md-select__link"'

    text = page.read_text(encoding="utf-8")
    page.write_text(_OTHER_LANGUAGE.sub(link, text), encoding="utf-8")


class _Reader(HTMLParser):
    """What a page fetches, and whether a fence stands in its text."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.fences = 0
        self._code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._code += tag in ("code", "script")
        wanted = dict(attrs)
        if tag == "link" and "icon" not in (wanted.get("rel") or "stylesheet icon"):
            return
        self.fetched.append(wanted.get(_FETCHING.get(tag, "")) or "")

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in ("code", "script")

    def handle_data(self, data: str) -> None:
        self.fences += not self._code and "```" in data


def _look(page: Path, site: Path) -> list[str]:
    reader = _Reader()
    reader.feed(page.read_text(encoding="utf-8"))
    name = page.relative_to(site)
    found = [f"{name}: would fetch {one}" for one in reader.fetched if "//" in one]
    if reader.fences:
        found.append(f"{name}: a fence that is not code")
    return found


def _toml(settings: dict[str, Any]) -> str:
    """Inline tables throughout: the generator reads it, nobody else does."""
    lines = [f"{key} = {_value(value)}" for key, value in settings.items()]
    return "[project]\n" + "\n".join(lines) + "\n"


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
