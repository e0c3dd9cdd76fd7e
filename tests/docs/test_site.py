"""The manual as a site: it builds without a warning; what the generator gets is what we mean."""

import json
import re
from pathlib import Path

import pytest
from manual import staging
from manual.build import Broken, build
from manual.sections import contents
from manual.staging import REPOSITORY, Tree, resolved


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("manual") / "site"
    build(folder)
    return folder


def test_every_page_is_in_the_site_and_in_both_searches(site: Path) -> None:
    """A link or an anchor that leads nowhere would have failed the build."""
    for language, folder in (("en", site), ("zh", site / "zh")):
        index = json.loads((folder / "search.json").read_text(encoding="utf-8"))
        found = {item["location"].partition("#")[0] for item in index["items"]}
        assert len(found) == len(staging.sources(language))
        assert all((folder / page).is_file() for page in found)
    chinese = (site / "zh" / "search.json").read_text(encoding="utf-8")
    assert "控制平面" in chinese
    assert 'hreflang="zh"' in (site / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("page", "language", "href"),
    [
        ("guide/tutorial.html", "zh", "../zh/guide/tutorial.html"),
        ("zh/guide/tutorial.html", "en", "../../guide/tutorial.html"),
        ("operate/node.html", "zh", "../zh/"),  # there is no such page: the first one
    ],
)
def test_the_switch_of_languages_keeps_the_place(
    site: Path, page: str, language: str, href: str
) -> None:
    links = re.findall(
        r'<a href="([^"]*)"[^>]*hreflang="(..)" class="md-select__link"',
        (site / page).read_text(encoding="utf-8"),
    )
    assert (href, language) in links


def test_a_page_stands_once_in_the_contents_and_a_new_one_last_in_its_section() -> None:
    pages = [*staging.sources("en"), "guide/zebra.md"]
    found = contents(pages, "en")
    assert sorted(page for chosen in found.values() for page in chosen) == sorted(pages)
    assert found["Guides"][-1] == "guide/zebra.md"


def test_what_is_wrong_with_a_page_fails_the_build(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "images").mkdir(parents=True)
    (docs / "index.md").write_text("# A\n\n[a](b.md) [b](#c)\n", encoding="utf-8")
    with pytest.raises(Broken, match="page does not exist"):
        build(tmp_path / "site", Tree(tmp_path))
    (docs / "stray.md").write_text("# B\n", encoding="utf-8")
    with pytest.raises(Broken, match=r"stray\.md: in no section"):
        build(tmp_path / "site", Tree(tmp_path))


@pytest.mark.parametrize(
    ("target", "page", "language", "written"),
    [
        ("agents.md#tools", "guide/models.md", "en", "agents.md#tools"),
        ("#here", "guide/models.md", "en", "#here"),
        ("https://example.org/a.md", "guide/models.md", "en", "https://example.org/a.md"),
        ("../../SECURITY.md#a", "operate/people.md", "en", "security.md#a"),
        ("../CONTRIBUTING.md", "index.md", "en", "contributing/index.md"),
        ("../src/trunkline/names.py", "index.md", "en", None),
        ("../guide/agents.md#tools", "index.md", "zh", "../guide/agents.html#tools"),
        ("../protocols/README.md", "index.md", "zh", "../protocols/index.html"),
        ("../../SECURITY.md", "index.md", "zh", "../operate/security.html"),
        ("../images/chat-dark.png", "index.md", "zh", "images/chat-dark.png"),
    ],
)
def test_a_link_leads_to_the_same_page_in_the_site(
    target: str, page: str, language: str, written: str | None
) -> None:
    folder = REPOSITORY.docs if language == "en" else REPOSITORY.chinese
    assert resolved(target, folder / page, page, language) == written


def test_an_info_string_is_left_with_its_language(tmp_path: Path) -> None:
    page = REPOSITORY.docs / "contributing" / "manual.md"
    text = staging.staged(page, "contributing/manual.md", "en")
    assert '```` ```console no-run="needs root and systemd" ````' in text
    block = tmp_path / "page.md"
    block.write_text('```console no-run="why"\n$ a [b](c.md)\n```\n', encoding="utf-8")
    assert staging.staged(block, "page.md", "en") == "```console\n$ a [b](c.md)\n```\n"
