"""The manifest and the tests agree: no promise without a proof, no proof of an unknown promise."""

import re
from collections import Counter

import pytest

from tests.requirements import MANIFEST, coverage
from tests.requirements.proofs import ROOT, find_proofs
from tests.requirements.requirement import DOCUMENTS, ID, Requirement

PROOFS = find_proofs()
PROVEN = {proof.requirement for proof in PROOFS if proof.test is not None}


@pytest.mark.parametrize("entry", MANIFEST, ids=lambda entry: entry.id)
def test_an_entry_has_a_test_or_a_reason_and_not_both(entry: Requirement) -> None:
    if entry.reason is None:
        assert entry.id in PROVEN, f"no test is marked with proves({entry.id!r})"
    else:
        assert entry.reason.strip()
        assert entry.id not in PROVEN, f"{entry.id} has tests now: take its reason away"


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


def test_every_section_of_document_000_that_promises_something_is_covered() -> None:
    uplink = {f"4.{number}" for number in range(1, 6)}
    downlink = {f"5.{number}" for number in range(1, 9)}
    assert _sections("000") == {"1", "2", "3", *uplink, *downlink, "6", "7", "8", "9", "10"}


def test_every_section_of_document_003_that_promises_something_is_covered() -> None:
    assert _sections("003") == {str(number) for number in range(1, 8)}


def test_every_heading_of_document_001_that_promises_something_is_covered() -> None:
    concepts, kinds = {"2.1", "2.2", "2.3"}, {"3.1", "3.2", "3.3"}
    flows = {"4.1", "4.2", "4.3"}
    assert _sections("001") == {"1", *concepts, *kinds, *flows, "5", "6", "7"}


def test_every_heading_of_document_002_that_promises_something_is_covered() -> None:
    types, providers = {"4.1", "4.2", "4.3"}, {"5.1", "5.2", "5.3"}
    rest = {str(number) for number in range(6, 14)}
    assert _sections("002") == {"1", "2", "3", *types, *providers, *rest}


def test_every_section_of_document_004_that_promises_something_is_covered() -> None:
    modules = {"2.1", "2.2", "2.3", "3.1", "3.2", "3.3"}
    runtimes = {f"4.{number}" for number in range(1, 11)}
    nodes = {"7", *(f"7.{number}" for number in range(1, 5))}
    assert _sections("004") == {"1", *modules, *runtimes, "5", "6", *nodes, "8", "9", "10", "11"}


def test_the_field_notes_on_the_three_client_and_device_wires_are_covered() -> None:
    """1 is Semibot, 2 MyAgent, 3 Yeaft, 4 AGP."""
    assert _sections("notes") == {"2", "3", "4"}


def test_a_behaviour_is_one_sentence_and_said_once() -> None:
    behaviours = [entry.behaviour for entry in MANIFEST]
    assert [text for text in behaviours if not text.endswith(".")] == []
    assert [text for text, count in Counter(behaviours).items() if count > 1] == []


def test_the_coverage_page_is_up_to_date() -> None:
    fresh = coverage.page(MANIFEST, PROOFS)
    assert coverage.PAGE.read_text() == fresh, "run: python -m tests.requirements.coverage"


def test_every_file_that_the_coverage_page_names_exists() -> None:
    links = set(re.findall(r"\]\(([^)]+)\)", coverage.page(MANIFEST, PROOFS)))
    assert links
    folder = ROOT / "docs" / "protocols"
    assert [link for link in sorted(links) if not (folder / link).resolve().is_file()] == []
