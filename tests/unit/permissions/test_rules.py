"""Rules by their table: `commands.py` and `decisions.py` are the data."""

import pytest

from tests.unit.permissions.commands import ASKED, READS
from tests.unit.permissions.decisions import COMMANDS, HOSTS, NAMES, PATHS, UNREADABLE, Case
from trunkline.permissions import rules, subjects
from trunkline.permissions.decision import decide
from trunkline.permissions.names import names_of
from trunkline.permissions.proposals import proposed
from trunkline.permissions.reading import Place, only_reads, simple_only_reads
from trunkline.permissions.subjects import Call, Subject

CASES = (*COMMANDS, *PATHS, *HOSTS, *NAMES)


def may_read(path: str) -> bool:
    """As the workspace of the table is: one link leads out."""
    parts = path.split("/")
    return not path.startswith(("/", "~")) and ".." not in parts and "secret_link" not in parts


PLACE = Place(may_read, is_repository=True)


def call_of(tool: str, about: str | None) -> Call:
    names = names_of(tool)
    if "bash" in names:
        return Call(names, (subjects.command(about or ""),))
    if "web_fetch" in names:
        return Call(names, (subjects.host_of_url(about or ""),))
    if "edit_file" in names or "read_file" in names:
        return Call(names, (Subject("path", about),))
    return Call(names)


def rule_of(text: str) -> rules.Rule:
    effect, _, rule = text.partition(" ")
    return rules.read(effect, rule)  # type: ignore[arg-type]


@pytest.mark.parametrize("command", READS)
def test_commands_that_only_look_are_known(command: str) -> None:
    assert only_reads(command, PLACE)


@pytest.mark.parametrize("command", ASKED)
def test_everything_else_is_asked_about(command: str) -> None:
    assert not only_reads(command, PLACE)


def test_git_outside_of_a_repository_is_asked_about() -> None:
    assert not only_reads("git status", Place(may_read))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[1]} {case[2]}"[:80])
def test_a_call_is_decided_as_the_table_says(case: Case) -> None:
    written, tool, about, expected = case
    found = decide(
        [rule_of(one) for one in written],
        call_of(tool, about),
        lambda part: simple_only_reads(part, PLACE),
    )
    assert (found.effect if found else None) == expected


def test_the_table_has_two_hundred_cases() -> None:
    assert len(CASES) + len(READS) + len(ASKED) + len(UNREADABLE) >= 200
    assert len(set(map(repr, CASES))) == len(CASES)


@pytest.mark.parametrize("text", UNREADABLE, ids=lambda text: repr(text)[:40])
def test_what_is_no_rule_is_refused_in_words(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w+ \w+"):
        rules.read("allow", text)


def test_rules_from_outside_that_cannot_be_read_are_told_and_the_others_hold() -> None:
    problems: list[str] = []
    given = [{"effect": "deny", "rule": "bash"}, {"effect": "maybe", "rule": "bash"}, 7, None, {}]
    found = rules.read_all(given, problems)
    assert [rule.text for rule in found] == ["bash"]
    assert len(problems) == 4


@pytest.mark.parametrize(
    ("tool", "about", "rule"),
    [
        ("bash", "git push origin main", "bash(git push *)"),
        ("bash", "npm run build --prod", "bash(npm run build *)"),
        ("bash", "make", "bash(make)"),
        ("bash", "rm -rf build", "bash(rm -rf build)"),
        ("bash", "make && make test", "bash(make && make test)"),
        ("bash", "git -c a=b push x", "bash(git -c a=b push x)"),
        ("bash", "rm *.o", None),
        ("bash", "echo $HOME", None),
        ("bash", "a\nb", None),
        ("bash", "x" * 2_000, None),
        ("edit_file", "src/a.py", "edit_file(src/**)"),
        ("write_file", "a.py", "write_file(./a.py)"),
        ("edit_file", "a*.py", None),
        ("web_fetch", "https://Example.org/x", "web_fetch(domain:example.org)"),
        ("web_fetch", "nonsense", None),
        ("mcp__x__y", None, "mcp__x__y"),
        ("code_execution", None, None),
    ],
)
def test_what_always_will_mean_covers_the_call_and_is_shown_first(
    tool: str, about: str | None, rule: str | None
) -> None:
    call = call_of(tool, about)
    assert proposed(call) == rule
    if rule is not None:
        found = decide([rules.read("allow", rule)], call)
        assert found is not None
        assert found.effect == "allow"


def test_a_hostile_command_is_looked_through_in_bounded_time() -> None:
    nested = "bash -c 'env " + "sudo bash " * 5_000 + "'"
    found = decide([rule_of("deny bash(rm *)")], call_of("bash", nested))
    assert found is not None
    assert found.effect == "ask"
