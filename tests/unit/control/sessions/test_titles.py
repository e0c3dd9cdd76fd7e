"""What sessions are called (`control/sessions/titles.py`)."""

import pytest
from sqlalchemy import select

from tests.unit.control.sessions.recorded import Records
from trunkline.control.services.methods import Caller
from trunkline.control.sessions import state as states
from trunkline.control.sessions.titles import Titled, Titles, of_message
from trunkline.control.store.schema import sessions
from trunkline.control.watchers import Watchers


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("Fix the build", "Fix the build"),
        ("  Fix\tthe   build \n and more", "Fix the build"),
        ("\n\n# Fix **the** `build`\nnow", "Fix the build"),
        ("> - [ ] 1. do *it*", "do it"),
        ('see [the log](http://x/y "t") and ![pic](a.png)', "see the log and pic"),
        ("```\nls -l\n```", "ls -l"),
        ("---\nafter a rule", "after a rule"),
        ("snake_case and 2 * 3 * 4 stay", "snake_case and 2 * 3 * 4 stay"),
        ("***", "***"),
        ("   \n\t", ""),
        ("\x1b[2J\u202egnp.exe\x00 hello\x07", "[2Jgnp.exe hello"),
        ("帮我写一个测试", "帮我写一个测试"),
        ("字" * 80, "字" * 60 + "…"),
        (
            "Please look at the failing test in the payment module and mend it",
            "Please look at the failing test in the payment module and…",
        ),
        ("x" * 100_000, "x" * 60 + "…"),
        ("one " + "y" * 200, "one " + "y" * 56 + "…"),
        ("👩\u200d👩\u200d👧 family", "👩\u200d👩\u200d👧 family"),
        ("use sk-abcdefghijklmnop for it", "use sk-*** for it"),
        ("log in with\thttps://ada:hunter2@host/x", "log in with https://ada:***@host/x"),
        ("PASSWORD=hunter2 does not work", "PASSWORD=*** does not work"),
    ],
)
def test_a_title_is_the_first_line_that_has_words_without_markdown(
    message: str, title: str
) -> None:
    assert of_message(message) == title
    assert len(title) <= 61


async def test_a_persons_title_counts_more_than_a_models_and_that_more_than_a_messages(
    records: Records,
) -> None:
    changed, told = Watchers[Titled](), list[Titled]()
    changed.watch(told.append)
    titles = Titles(records.store, lambda: 7, changed)
    caller = Caller("u", "o", "m", records.session)

    async def now() -> tuple[str | None, str | None]:
        row = await records.store.first(select(sessions.c.title, sessions.c.titled_by))
        assert row is not None
        return row[0], row[1]

    # Of a session that nothing was said in, a model has nothing to say.
    assert await titles.told(caller, "Early") == {"accepted": False}
    await records.write(states.TurnOpened("t1", "mend the build\nplease", None))
    assert await now() == ("mend the build", "message")
    for nothing in ("", " \n", '""', "\x00"):
        assert await titles.told(caller, nothing) == {"accepted": False}
    assert await titles.told(caller, '"**Mending** the build."\nAs asked.') == {"accepted": True}
    assert await now() == ("Mending the build", "model")
    assert await titles.told(caller, "Again") == {"accepted": False}
    await titles.give(records.session, "Mine")
    assert await now() == ("Mine", "user")
    assert await titles.told(caller, "Again") == {"accepted": False}
    await titles.give(records.session, None)
    assert await now() == (None, None)
    assert [one.session_id for one in told] == [records.session] * 3
