"""A local machine whose program dies at each start: the page says so, and that it goes on."""

from typing import Any

import pytest
from playwright.async_api import expect

from tests.browser.harness import MARKS, Visits
from tests.support.node import World

pytestmark = MARKS


@pytest.fixture(scope="module")
def settings() -> dict[str, Any]:
    return {"vm_command": "sh -c 'echo the disk is full >&2; exit 3'"}


async def test_the_page_says_why_a_machine_does_not_come_and_that_it_is_tried_again(
    visits: Visits, world: World
) -> None:
    made = await world.user.ok(
        "POST", f"/users/{world.user.id}/vm", {"provider": "local", "name": "attic"}
    )
    page = await visits.user("/machines")
    said = page.get_by_text("it is started again every 5 minutes")
    await expect(said).to_be_visible()
    await page.goto(f"/machines/{made['vm_id']}")
    await expect(said).to_be_visible()
    await expect(page.get_by_text("the disk is full")).to_be_visible()
