"""Makes docs/protocols/coverage.md from the manifest and the tests that name its entries.

`python -m tests.requirements.coverage` writes the page; a test checks that it is up to date.
"""

from collections.abc import Iterable

from tests.requirements import MANIFEST
from tests.requirements.proofs import ROOT, Proof, find_proofs
from tests.requirements.requirement import DOCUMENTS, Requirement

PAGE = ROOT / "docs" / "protocols" / "coverage.md"

_HEAD = """\
# What the documents require, and what proves it

Made by `python -m tests.requirements.coverage`; change `tests/requirements/` instead of this page.
Every requirement of a source document is one entry. Behind it stand the page that states it, and
the tests that fail when it is broken, or the reason why there is none. A *divergence* says how and
why the behaviour differs from the source document.
"""


def page(manifest: Iterable[Requirement], proofs: Iterable[Proof]) -> str:
    """The page as text."""
    entries = list(manifest)
    tests: dict[str, list[Proof]] = {}
    for proof in proofs:
        if proof.requirement is not None:
            tests.setdefault(proof.requirement, []).append(proof)
    parts = [_HEAD]
    for document, title in DOCUMENTS.items():
        own = [entry for entry in entries if entry.document == document]
        proven = sum(entry.id in tests for entry in own)
        parts.append(f"## {document}: {title}\n\n{len(own)} entries, {proven} proven by tests.\n")
        for section in dict.fromkeys(entry.section for entry in own):
            rows = [entry for entry in own if entry.section == section]
            head = "| entry | behaviour | stated in | proof |\n| --- | --- | --- | --- |"
            parts.append(f"### {document} §{section}\n\n{head}")
            parts[-1] += "".join(f"\n{_row(entry, tests.get(entry.id, []))}" for entry in rows)
            parts[-1] += "\n"
    return "\n".join(parts)


def _row(entry: Requirement, proofs: list[Proof]) -> str:
    if proofs:
        links = dict.fromkeys(f"[{_words(one.test)}](../../{one.file})" for one in proofs)
        proof = "<br>".join(links)
    else:
        proof = f"none: {entry.reason or 'missing'}"
    behaviour = entry.behaviour.replace("|", "\\|")
    if entry.divergence is not None:
        behaviour += f"<br>*Divergence:* {entry.divergence}."
    stated = f"[{_place(entry.page)}]({entry.page})"
    return f"| `{entry.id.split('-', 2)[2]}` | {behaviour} | {stated} | {proof} |"


def _place(page: str) -> str:
    """`semibot.md#close-codes` in words: `semibot: close codes`."""
    name, _, anchor = page.partition("#")
    return f"{name.removesuffix('.md')}: {anchor.replace('-', ' ')}"


def _words(test: str | None) -> str:
    return (test or "").removeprefix("test_").replace("_", " ")


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(MANIFEST, find_proofs()))
