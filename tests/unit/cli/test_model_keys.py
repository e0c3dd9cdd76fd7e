"""A model's name that no key is for is warned of when it is stored."""

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from trunkline.cli.model_keys import keyless
from trunkline.client import Client, Unreachable

WITHOUT = {"providers": ["groq"], "any": False}


class Server:
    """With a stored key for Mistral, and a machine that says that much of models."""

    def __init__(self, models: Any, fallback: str | None = None) -> None:
        self._models = models
        self.fallback = fallback

    async def get(self, *path: str) -> Any:
        assert path == ("models",)
        return {"providers": [{"provider": "mistral"}], "fallback": self.fallback}

    async def each(self, *path: str) -> AsyncIterator[Any]:
        assert path == ("machines",)
        yield {"runtimes": None}
        yield {"runtimes": {"semigraph": {"usable": True, "models": self._models}}}


@pytest.mark.parametrize(
    ("stored", "models", "is_warned"),
    [
        ({"model": "gpt-99"}, WITHOUT, True),
        ({"model": "claude-x", "runtime_type": "semigraph"}, WITHOUT, True),
        ({"model": "groq/llama"}, WITHOUT, False),
        ({"model": "demo"}, WITHOUT, False),
        ({"model": None}, WITHOUT, False),
        ({}, WITHOUT, False),
        ({"model": "claude-x", "runtime_type": "claude-code"}, WITHOUT, False),
        ({"model": "gpt-99"}, {"providers": ["openai"], "any": False}, False),
        ({"model": "gpt-99"}, {"providers": [], "any": True}, False),
        ({"model": "gpt-99"}, None, False),
    ],
)
async def test_a_name_without_a_key_is_warned_of(
    stored: dict[str, Any], models: Any, is_warned: bool
) -> None:
    said = await keyless(cast(Client, Server(models)), stored)
    assert bool(said) is is_warned
    if is_warned:
        assert "there are keys for groq, mistral; `trunkline user set-key" in said


class Unreached(Server):
    async def get(self, *path: str) -> Any:
        raise Unreachable("nobody answers")


async def test_nobody_is_warned_where_another_model_would_answer_or_nobody_can_tell() -> None:
    stored = {"model": "gpt-99"}
    assert await keyless(cast(Client, Server(WITHOUT)), stored)
    assert await keyless(cast(Client, Server(WITHOUT, "groq/llama")), stored) == ""
    assert await keyless(cast(Client, Unreached(WITHOUT)), stored) == ""
