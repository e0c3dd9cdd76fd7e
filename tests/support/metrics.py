"""What `/metrics` says."""

import re

import aiohttp

from tests.support.control import Control


async def metric(control: Control, name: str) -> float:
    """The sum of a metric over its labels; 0 while it has none."""
    async with aiohttp.ClientSession() as http, http.get(control.url + "/metrics") as answer:
        text = await answer.text()
    return sum(map(float, re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$", text, re.MULTILINE)))
