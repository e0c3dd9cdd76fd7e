"""The manifest, the tests and the pages agree: no requirement without a proof and a page that
states it, no proof of an unknown requirement, no link that leads nowhere."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.requirements import MANIFEST, coverage
from tests.requirements.headings import anchors, leads_nowhere, section
from tests.requirements.proofs import ROOT, find_proofs
from tests.requirements.requirement import DOCUMENTS, ID, Requirement

PAGES = ROOT / "docs" / "protocols"
PROOFS = find_proofs()
PROVEN = {proof.requirement for proof in PROOFS if proof.test is not None}


def test_an_entry_has_a_test_or_a_reason_and_not_both() -> None:
    reasons = {entry.id: entry.reason for entry in MANIFEST}
    assert [one for one, reason in reasons.items() if reason is None and one not in PROVEN] == []
    assert [one for one, reason in reasons.items() if reason is not None and one in PROVEN] == []
    assert [
        one for one, reason in reasons.items() if reason is not None and not reason.strip()
    ] == []


def test_every_name_that_a_test_uses_is_an_entry() -> None:
    known = {entry.id for entry in MANIFEST}
    unknown = [f"{one.file}:{one.line} {one.requirement}" for one in PROOFS]
    unknown = [
        place for place, one in zip(unknown, PROOFS, strict=True) if one.requirement not in known
    ]
    assert unknown == []


def test_every_mark_stands_on_a_test() -> None:
    assert [f"{one.file}:{one.line}" for one in PROOFS if one.test is None] == []


def test_ids_are_well_formed_and_given_once() -> None:
    assert [entry.id for entry in MANIFEST if ID.fullmatch(entry.id) is None] == []
    assert [
        one for one, count in Counter(entry.id for entry in MANIFEST).items() if count > 1
    ] == []
    assert {entry.document for entry in MANIFEST} == set(DOCUMENTS)


def _sections(document: str) -> set[str]:
    return {entry.section for entry in MANIFEST if entry.document == document}


def test_every_section_of_document_000_that_requires_something_is_covered() -> None:
    uplink = {f"4.{number}" for number in range(1, 6)}
    downlink = {f"5.{number}" for number in range(1, 9)}
    assert _sections("000") == {"1", "2", "3", *uplink, *downlink, "6", "7", "8", "9", "10"}


def test_every_section_of_document_003_that_requires_something_is_covered() -> None:
    assert _sections("003") == {str(number) for number in range(1, 8)}


def test_every_heading_of_document_001_that_requires_something_is_covered() -> None:
    concepts, kinds = {"2.1", "2.2", "2.3"}, {"3.1", "3.2", "3.3"}
    flows = {"4.1", "4.2", "4.3"}
    assert _sections("001") == {"1", *concepts, *kinds, *flows, "5", "6", "7"}


def test_every_heading_of_document_002_that_requires_something_is_covered() -> None:
    types, providers = {"4.1", "4.2", "4.3"}, {"5.1", "5.2", "5.3"}
    rest = {str(number) for number in range(6, 14)}
    assert _sections("002") == {"1", "2", "3", *types, *providers, *rest}


def test_every_section_of_document_004_that_requires_something_is_covered() -> None:
    modules = {"2.1", "2.2", "2.3", "3.1", "3.2", "3.3"}
    runtimes = {f"4.{number}" for number in range(1, 11)}
    nodes = {"7", *(f"7.{number}" for number in range(1, 5))}
    assert _sections("004") == {"1", *modules, *runtimes, "5", "6", *nodes, "8", "9", "10", "11"}


def test_the_field_notes_on_every_wire_are_covered() -> None:
    """1 is Semibot, 2 MyAgent, 3 Yeaft, 4 AGP."""
    assert _sections("notes") == {"1", "2", "3", "4"}


def test_a_behaviour_is_one_sentence_and_said_once() -> None:
    behaviours = [entry.behaviour for entry in MANIFEST]
    assert [text for text in behaviours if not text.endswith(".")] == []
    assert [text for text, count in Counter(behaviours).items() if count > 1] == []


def test_the_coverage_page_is_up_to_date() -> None:
    fresh = coverage.page(MANIFEST, PROOFS)
    assert coverage.PAGE.read_text() == fresh, "run: python -m tests.requirements.coverage"


def test_an_entry_links_to_a_heading_of_our_own_pages() -> None:
    links = {entry.page for entry in MANIFEST}
    assert [link for link in links if "#" not in link or leads_nowhere(link, PAGES)] == []


def _missing(entry: Requirement) -> list[str]:
    """The names that the entry uses and the section that it links to does not have."""
    name, _, anchor = entry.page.partition("#")
    text = section((PAGES / name).read_text(encoding="utf-8"), anchor)
    quoted = " ".join(re.findall(r"`([^`]+)`", entry.behaviour))
    names = dict.fromkeys(re.findall(r"[A-Za-z_][A-Za-z_.]*[A-Za-z_]", quoted))
    return [one for one in names if not all(part in text for part in one.split("."))]


def test_the_section_has_every_name_that_its_entry_uses() -> None:
    """So that it states the entry, and is not only called like it."""
    missing = {entry.id: _missing(entry) for entry in MANIFEST}
    assert {one: names for one, names in missing.items() if names} == {}


def test_a_divergence_says_how_and_why_in_words() -> None:
    said = [entry.divergence for entry in MANIFEST if entry.divergence is not None]
    assert said
    assert [text for text in said if len(text.split()) < 5 or text.endswith(".")] == []


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.name)
def test_a_heading_of_a_protocol_page_stands_there_once(page: Path) -> None:
    """Two of the same name have anchors that change when one of them moves."""
    counts = Counter(anchors(page.read_text(encoding="utf-8")))
    assert [anchor for anchor, count in counts.items() if count > 1] == []


@pytest.mark.parametrize(
    "page",
    sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]),
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_no_link_of_a_page_leads_nowhere(page: Path) -> None:
    links = set(re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")))
    ours = sorted(link for link in links if "://" not in link)
    own = {f"{page.name}{link}" if link.startswith("#") else link for link in ours}
    assert [link for link in sorted(own) if leads_nowhere(link, page.parent)] == []


def test_every_page_that_a_comment_names_is_there() -> None:
    link = re.compile(r"\bdocs/[\w/-]+\.md(?:#[\w-]+)?")
    files = sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("tests/**/*.py")])
    named = {one for path in files for one in link.findall(path.read_text(encoding="utf-8"))}
    assert named
    assert [one for one in sorted(named) if leads_nowhere(one, ROOT)] == []
