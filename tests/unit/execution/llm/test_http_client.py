"""How a session's models are reached over HTTP."""

import pytest

from tests.support.model_server import Failure, ModelServer, Turn
from tests.support.models import MODELS, Session, reply_of
from trunkline.execution.errors import ModelError


@pytest.mark.parametrize("provider", sorted(MODELS))
async def test_a_proxy_of_the_environment_is_not_asked_for_servers_on_this_machine(
    server: ModelServer, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    server.script(Turn(text="directly"))
    async with Session(server) as session:
        assert reply_of(await session.ask(MODELS[provider])).text == "directly"


@pytest.mark.parametrize("provider", sorted(MODELS))
async def test_a_key_does_not_follow_a_redirect_to_another_host(
    server: ModelServer, provider: str
) -> None:
    async with ModelServer() as other:
        other.otherwise(lambda request: Turn(text="thank you for the key"))
        path = "/v1/chat/completions" if provider == "openai" else "/v1/messages"
        away = Failure(status=307, headers={"Location": other.url + path})
        server.script(Turn(failure=away))
        async with Session(server) as session:
            with pytest.raises(ModelError):
                await session.ask(MODELS[provider])
        assert other.requests == []


async def test_calls_of_a_session_share_a_connection(server: ModelServer) -> None:
    server.otherwise(lambda request: Turn(text="ok"))
    async with Session(server) as session:
        for model in ("gpt-4o", "gpt-4o", "claude-opus-5"):
            await session.ask(model)
    assert len({request.peer for request in server.requests}) == 1
