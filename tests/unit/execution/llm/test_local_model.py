"""The local model as a session sees it; the daemon is played by a table of answers."""

import pytest

from tests.support.model_server import ModelServer, Turn
from tests.support.models import BASH, Control, Session, news_of, reply_of, used_tool
from trunkline.execution.errors import ModelError, RequestFailed
from trunkline.execution.llm.base import Message
from trunkline.execution.llm.local_model import LOCAL_MODEL_ANSWER_TOKENS


def served(server: ModelServer, key: str = "") -> dict[str, str]:
    return {"base_url": server.openai_url, "model": "smol", "api_key": key}


async def test_it_says_what_it_is_once_and_is_asked_where_the_daemon_serves_it(
    server: ModelServer,
) -> None:
    server.script(Turn(text="Hello."), Turn(text="Again."))
    control = Control({"local.model": served(server, "loopback-key")})
    async with Session(keys={}, control=control) as session:
        first = await session.ask("local", "Hi", tools=[BASH])
        second = await session.ask("local", "Hi")
    assert "very small model on this machine" in news_of(first)[0]
    assert news_of(second) == []
    assert (reply_of(first).text, reply_of(first).model) == ("Hello.", "local")
    assert server.requests[0].headers["authorization"] == "Bearer loopback-key"
    assert "tools" not in server.requests[0].body
    # Each call asks again: that is how the daemon knows that the model is wanted.
    assert control.requests == ["local.model", "local.model"]


async def test_a_server_that_was_started_anew_is_found_at_its_new_place(
    server: ModelServer,
) -> None:
    async with ModelServer() as other:
        server.script(Turn(text="old"))
        other.script(Turn(text="new"))
        control = Control({"local.model": served(server)})
        async with Session(keys={}, control=control) as session:
            assert reply_of(await session.ask("local")).text == "old"
            control.answers["local.model"] = served(other)
            assert reply_of(await session.ask("local")).text == "new"


async def test_it_gets_a_short_and_plain_conversation(server: ModelServer) -> None:
    server.script(Turn(text="ok"))
    control = Control({"local.model": served(server)})
    long_ago = [
        Message(role=role, content=f"{role} " + "x" * 2_000)
        for _ in range(20)
        for role in ("user", "assistant")
    ]
    async with Session(keys={}, control=control) as session:
        messages = [*long_ago, *used_tool(), Message(role="user", content="So?")]
        system = "You are Ada.\n\n" + "rules " * 10_000
        await session.ask("local", messages, system=system, max_tokens=100_000)
    request = server.requests[0]
    assert request.system == "You are a helpful assistant. You are Ada."
    assert sum(len(one["content"]) for one in request.messages) < 7_000
    assert request.prompt.endswith("[result] a.txt\n\nSo?")
    assert {one["role"] for one in request.messages} == {"system", "user", "assistant"}
    assert request.body["max_tokens"] == LOCAL_MODEL_ANSWER_TOKENS


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (
            RequestFailed("LOCAL_MODEL_UNAVAILABLE", "Install trunkline[local-model]."),
            "MODEL_NOT_FOUND",
            "Install trunkline[local-model].",
        ),
        (TimeoutError(), "MODEL_UNREACHABLE", "did not start in time"),
        (ConnectionError("gone"), "MODEL_UNREACHABLE", "gone"),
        ({"base_url": 5}, "MODEL_UNREACHABLE", "not there"),
        (None, "MODEL_UNREACHABLE", "not there"),
    ],
)
async def test_a_model_that_is_not_there_is_told_in_words(
    answer: object, code: str, words: str
) -> None:
    async with Session(keys={}, control=Control({"local.model": answer})) as session:
        with pytest.raises(ModelError) as failed:
            await session.ask("local")
    assert failed.value.code == code
    assert words in failed.value.message
