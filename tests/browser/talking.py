"""A chat in a test of the page: what is typed into it, and what the model says to that."""

from typing import Any

from playwright.async_api import Locator, Page, expect

from tests.support.model_server import ModelRequest, ModelServer, Turn
from tests.support.node import World


def answers(model: ModelServer, prompt: str, *turns: Turn) -> None:
    """What the model says to this message, and to what follows from it."""

    def fits(request: ModelRequest) -> bool:
        return any(prompt in str(message.get("content")) for message in request.messages)

    model.when(fits, *turns)


def message(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Message")


async def say(page: Page, text: str) -> None:
    await message(page).fill(text)
    await message(page).press("Enter")


async def opened(world: World, page: Page, title: str, **chosen: Any) -> str:
    """A chat with the scripted model, on the screen."""
    talk = await world.session(title=title, **chosen)
    await page.goto(f"/chat/{talk.id}")
    await expect(page.get_by_role("heading", name=title)).to_be_visible()
    return talk.id
