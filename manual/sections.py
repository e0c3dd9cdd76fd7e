"""The table of contents of the manual. What is not listed stands last in its folder's section."""

from collections.abc import Iterable
from pathlib import PurePosixPath as Path
from typing import NamedTuple


class Section(NamedTuple):
    en: str
    zh: str
    folder: str
    pages: tuple[str, ...]


SECTIONS = (
    Section(
        "Start",
        "开始",
        "",
        (
            "index.md",
            "guide/first-steps.md",
            "guide/tutorial.md",
            "guide/terminal.md",
            "guide/page.md",
            "guide/faq.md",
            "guide/compare.md",
        ),
    ),
    Section(
        "Guides",
        "指南",
        "guide",
        (
            "guide/recipes.md",
            "guide/agents.md",
            "guide/models.md",
            "guide/permissions.md",
            "guide/fence.md",
            "guide/folders.md",
            "guide/export.md",
            "guide/context.md",
            "guide/memory.md",
            "guide/runtimes.md",
            "guide/clients-and-machines.md",
            "guide/python-client.md",
            "guide/typescript-client.md",
            "guide/push.md",
            "guide/openclaw.md",
            "guide/foreign-servers.md",
        ),
    ),
    Section(
        "Operate",
        "运维",
        "operate",
        (
            "operate/install.md",
            "operate/running.md",
            "operate/deployment.md",
            "operate/backup.md",
            "operate/upgrade.md",
            "operate/node.md",
            "operate/people.md",
            "operate/quotas.md",
            "operate/teams.md",
            "operate/vms.md",
            "operate/logs.md",
            "operate/troubleshooting.md",
            "operate/security.md",
        ),
    ),
    Section(
        "Protocols",
        "协议",
        "protocols",
        (
            "protocols/README.md",
            "protocols/events.md",
            "protocols/semibot.md",
            "protocols/semibot-methods.md",
            "protocols/capabilities.md",
            "protocols/agp.md",
            "protocols/yeaft.md",
            "protocols/myagent.md",
            "protocols/execution.md",
            "protocols/ipc.md",
            "protocols/compatibility.md",
            "protocols/coverage.md",
        ),
    ),
    Section(
        "Reference",
        "参考",
        "reference",
        (
            "reference/cli.md",
            "reference/settings.md",
            "reference/errors.md",
            "reference/audit.md",
            "reference/benchmarks.md",
            "reference/changelog.md",
        ),
    ),
    Section(
        "Concepts",
        "概念",
        "concepts",
        (
            "concepts/architecture.md",
            "concepts/words.md",
            "concepts/core.md",
            "concepts/execution.md",
            "concepts/log-store.md",
            "concepts/groups.md",
            "concepts/decisions.md",
        ),
    ),
    Section(
        "Contributing",
        "参与开发",
        "contributing",
        (
            "contributing/index.md",
            "contributing/manual.md",
            "contributing/page.md",
            "contributing/wire.md",
            "contributing/runtime.md",
            "contributing/tool.md",
            "contributing/provider.md",
        ),
    ),
)

FROM_THE_ROOT = {
    "ARCHITECTURE.md": "concepts/architecture.md",
    "CONTRIBUTING.md": "contributing/index.md",
    "CHANGELOG.md": "reference/changelog.md",
    "SECURITY.md": "operate/security.md",
    "bench/RESULTS.md": "reference/benchmarks.md",
}
"""Pages that stand outside of `docs/` in the repository, and their places in the site."""


def contents(pages: Iterable[str], language: str) -> dict[str, list[str]]:
    """The sections of a language's site, by their names, with those of its pages that are there."""
    there = set(pages)
    listed = {page for section in SECTIONS for page in section.pages}
    found = {}
    for section in SECTIONS:
        more = sorted(page for page in there - listed if Path(page).parts[0] == section.folder)
        found[section.zh if language == "zh" else section.en] = [
            *(page for page in section.pages if page in there),
            *more,
        ]
    return {name: chosen for name, chosen in found.items() if chosen}


def html_of(page: str) -> str:
    """Where the generator puts a page, seen from the site's root."""
    path = Path(page)
    return str(path.with_name("index.html" if path.name == "README.md" else f"{path.stem}.html"))
