"""The quiet line below the prompt, and who answered."""

import pytest
from rich.cells import cell_len

from trunkline.cli.chat.facts import Facts
from trunkline.cli.chat.opening import Opened
from trunkline.client import Client

RECORD = {"id": "s", "session_config": {"model": "gpt-5", "workspace": "/srv/team/项目/site"}}


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (60, "laptop · gpt-5 · /srv/team/项目/site"),
        (36, "laptop · gpt-5 · /srv/team/项目/site"),
        (35, "laptop · gpt-5 · …/site"),
        (20, "laptop · gpt-5"),
        (10, "laptop ·…"),
        (1, "…"),
        (0, ""),
    ],
)
async def test_the_line_fits_and_a_long_folder_goes_first(width: int, shown: str) -> None:
    async with Client("http://127.0.0.1:9", "tl_x") as client:
        facts = Facts(Opened(client=client, record=RECORD))
        facts.machine = "laptop"
        assert facts.line(width) == shown
        assert cell_len(shown) <= width


async def test_who_answered_is_told_by_id_where_the_server_is_away() -> None:
    async with Client("http://127.0.0.1:9", "tl_x") as client:
        assert await Facts(Opened(client=client, record=RECORD)).name_of("u-1") == "user u-1"
