"""Pictures in both providers' formats, and what a model is told that cannot see them."""

from typing import Any

import pytest

from tests.support.model_server import Failure, ModelServer, Turn
from tests.support.models import BASH, MODELS, Session, call, news_of, used_tool
from trunkline.execution.llm import anthropic_messages, openai_messages
from trunkline.execution.llm.base import Images, Message, Picture
from trunkline.execution.llm.sight import can_see

DOT = Picture(media_type="image/png", path="pictures/dot", name="dot.png")
LEAF = Picture(media_type="image/jpeg", path="pictures/leaf")
IMAGES: Images = {"pictures/dot": "RE9U", "pictures/leaf": "TEVBRg=="}
ASKED = [Message(role="user", content="What is this?", pictures=[DOT, LEAF])]


class Shelf:
    async def load(self, messages: object) -> Images:
        return IMAGES


def openai(said: list[Message], images: Images = IMAGES, model: str = "gpt-4o") -> Any:
    made = call(model, said, images=images, system="")
    body = openai_messages.request(made, frozenset(), is_openai=True, provider="openai")
    return body["messages"]


def anthropic(said: list[Message], images: Images = IMAGES) -> Any:
    made = call("claude-sonnet-5-5", said, images=images)
    return anthropic_messages.request(made, frozenset({"no cache"}))["messages"]


def test_a_persons_pictures_are_sent_in_openais_words() -> None:
    assert openai(ASKED) == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,RE9U"}},
                {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,TEVBRg=="}},
            ],
        }
    ]


def test_a_persons_pictures_are_sent_in_anthropics_words() -> None:
    [message] = anthropic(ASKED)
    sources = [
        {"type": "base64", "media_type": "image/png", "data": "RE9U"},
        {"type": "base64", "media_type": "image/jpeg", "data": "TEVBRg=="},
    ]
    assert message["content"] == [
        *({"type": "image", "source": source} for source in sources),
        {"type": "text", "text": "What is this?"},
    ]


def two_results() -> list[Message]:
    said = used_tool("call_1", "a dot")
    said[1]["tool_calls"].append({"id": "call_2", "name": "bash", "arguments": {}})
    said[2]["pictures"] = [DOT]
    return [*said, Message(role="tool", content="plain", tool_call_id="call_2")]


def test_a_results_pictures_come_behind_all_results_for_openai() -> None:
    *_, first, second, shown = openai(two_results())
    assert (first["role"], first["content"]) == ("tool", "a dot")
    assert (second["role"], second["content"]) == ("tool", "plain")
    assert shown["role"] == "user"
    assert shown["content"] == [
        {"type": "text", "text": "Picture dot.png (image/png) of the result of call_1:"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,RE9U"}},
    ]


def test_a_results_pictures_are_in_the_result_for_anthropic_unless_it_is_an_error() -> None:
    said = two_results()
    first, second = anthropic(said)[-1]["content"]
    assert first["content"][0] == {"type": "text", "text": "a dot"}
    assert first["content"][1]["source"]["data"] == "RE9U"
    assert second["content"] == "plain"
    said[2]["is_error"] = True
    assert anthropic(said)[-1]["content"][0]["content"] == "a dot"


@pytest.mark.parametrize(
    ("images", "model", "why"),
    [
        ({"pictures/dot": None, "pictures/leaf": None}, "gpt-4o", "not on this machine any more"),
        ({}, "gpt-4o", "only the newest pictures are shown"),
        (IMAGES, "gpt-3.5-turbo", "this model cannot see pictures"),
    ],
)
def test_what_cannot_be_shown_is_told_in_words(images: Images, model: str, why: str) -> None:
    [message] = openai(ASKED, images, model)
    lines = message["content"].splitlines()
    assert lines[0] == "What is this?"
    assert [line.partition(":")[0] for line in lines[1:]] == [
        "[picture dot.png (image/png)",
        "[picture (image/jpeg)",
    ]
    assert all(why in line for line in lines[1:])


@pytest.mark.parametrize("provider", sorted(MODELS))
@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Invalid content type. image_url is only supported by certain models."),
        (400, "messages.0.content.0: This model does not support image input"),
        (400, "unknown variant `image_url`, expected `text`"),
        (404, "No endpoints found that support image input"),
        (400, "gemma is not a multimodal model"),
        (500, "image input is not supported - hint: you may need to provide the mmproj"),
    ],
)
async def test_a_model_that_refuses_pictures_is_asked_again_in_words_and_remembered(
    server: ModelServer, provider: str, status: int, message: str
) -> None:
    refusal = Failure(kind="bad_request", status=status, message=message)
    server.script(Turn(failure=refusal), Turn(text="I see."), Turn(text="Still."))
    async with Session(server, pictures=Shelf()) as session:
        pieces = await session.ask(MODELS[provider], ASKED)
        assert any("takes no pictures" in news for news in news_of(pieces))
        assert news_of(await session.ask(MODELS[provider], ASKED)) == []
    first, second, third = server.requests
    assert first.images == ["RE9U", "TEVBRg=="]
    assert second.images == third.images == []
    assert "[picture dot.png (image/png): this model cannot see pictures]" in second.prompt


async def test_a_refusal_that_is_not_about_pictures_leaves_them(server: ModelServer) -> None:
    server.does_not_know("temperature")
    server.script(Turn(text="I see."))
    async with Session(server, pictures=Shelf()) as session:
        await session.ask("gpt-4o", ASKED, temperature=0.5, tools=[BASH])
    assert server.requests[-1].images == ["RE9U", "TEVBRg=="]


@pytest.mark.parametrize(
    ("model", "sees"),
    [
        *((name, True) for name in ("gpt-4o", "gpt-4-turbo", "gpt-5.4-mini", "o3")),
        *((name, True) for name in ("claude-sonnet-5-5", "qwen2.5-vl-7b", "llama3.2-vision")),
        *((name, False) for name in ("gpt-3.5-turbo", "gpt-4", "o3-mini", "openai/o1-mini")),
        *((name, False) for name in ("deepseek-chat", "llama3.1:8b", "llama3", "qwen2.5-coder:7b")),
    ],
)
def test_models_that_are_known_to_be_blind(model: str, sees: bool) -> None:
    assert can_see(model, frozenset()) is sees
