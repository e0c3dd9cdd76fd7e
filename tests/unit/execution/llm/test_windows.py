"""How much a model can read: what is known of it, in order of trust."""

import pytest

from trunkline.execution.llm.windows import (
    WINDOW_DEFAULT,
    Lesson,
    Windows,
    limit_said,
    listed_window,
)
from trunkline.model_windows import WINDOW_MAX, WINDOW_MIN, ModelWindows

REFUSALS = [
    # OpenAI, and what speaks like it
    (
        "This model's maximum context length is 8192 tokens. However, your messages resulted in "
        "9001 tokens. Please reduce the length of the messages.",
        (8192, 9001),
    ),
    (
        "This model's maximum context length is 65,536 tokens. However, you requested 70000 tokens "
        "(66000 in the messages, 4096 in the completion).",
        (65536, 66000),
    ),
    ("Your input exceeds the context window of this model. Please adjust your input.", (0, 0)),
    # Anthropic
    ("prompt is too long: 213462 tokens > 200000 maximum", (200_000, 213_462)),
    (
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease "
        "input length or `max_tokens` and try again",
        (200_000, 0),
    ),
    # llama.cpp
    (
        "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
        (4096, 5000),
    ),
    ("the request exceeds the available context size (4096 tokens), try increasing it", (4096, 0)),
    # vLLM
    (
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make "
        "sure that `max_model_len` is no smaller than the number of text tokens.",
        (4096, 5000),
    ),
    (
        "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context "
        "length is 4096 tokens and your request has 300 input tokens (8192 > 4096 - 300).",
        (4096, 0),
    ),
    # Google, Mistral, xAI, LM Studio, TGI, OpenRouter
    (
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        (1_048_576, 1_200_000),
    ),
    (
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum "
        "context length",
        (32_768, 40_000),
    ),
    (
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        (131_072, 537_812),
    ),
    (
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is "
        "loaded with context length of only 4096 tokens, which is not enough.",
        (4096, 0),
    ),
    (
        "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 512 "
        "`max_new_tokens`",
        (4096, 5000),
    ),
    (
        "This endpoint's maximum context length is 32768 tokens. However, you requested about "
        "40000 tokens (38000 of text input, 2000 in the output).",
        (32_768, 0),
    ),
    # Nothing that can be a window
    ("maximum context length is 12 tokens", (0, 0)),
    ("maximum context length is 99999999999999999999999999 tokens", (0, 0)),
    ("context length " + "9" * 100_000, (0, 0)),
    ("maximum " * 50_000, (0, 0)),
    ("", (0, 0)),
]


@pytest.mark.parametrize(("message", "said"), REFUSALS, ids=range(len(REFUSALS)))
def test_a_refusal_says_the_window(message: str, said: tuple[int, int]) -> None:
    assert limit_said(message) == said


@pytest.mark.parametrize(
    ("entry", "window"),
    [
        ({"id": "m", "context_length": 131_072}, 131_072),
        ({"id": "m", "context_window": 200_000}, 200_000),
        ({"id": "m", "max_model_len": 16_384}, 16_384),
        ({"id": "m", "meta": {"n_ctx_train": 8192}}, 8192),
        ({"id": "m", "meta": {"n_ctx_train": 131_072, "n_ctx": 4096}}, 4096),
        (
            {"id": "m", "context_length": 1_000_000, "top_provider": {"context_length": 32_000}},
            32_000,
        ),
        ({"id": "m", "max_input_tokens": 1_000_000, "max_tokens": 64_000}, 1_000_000),
        ({"id": "m", "max_context_length": 32_768, "loaded_context_length": 4096}, 4096),
        ({"id": "m", "limit": {"context": 128_000, "output": 4096}}, 128_000),
        ({"id": "m", "context_length": "131072"}, None),
        ({"id": "m", "context_length": True}, None),
        ({"id": "m", "context_length": -5}, None),
        ({"id": "m", "context_length": 10**30}, None),
        ({"id": "m", "context_length": 1e6}, None),
        ({"id": "m", "meta": [1]}, None),
        ({}, None),
        (None, None),
        ([], None),
    ],
)
def test_a_server_lists_the_window(entry: object, window: int | None) -> None:
    assert listed_window(entry) == window


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-4o-mini", 128_000),
        ("gpt-4", 8_192),
        ("gpt-4.1-mini", 1_047_576),
        ("gpt-5.4-mini", 272_000),
        ("o3", 200_000),
        ("claude-sonnet-5-5", 200_000),
        ("Claude-Opus-4", 200_000),
        ("openrouter/meta-llama/llama-3.3-70b", 131_072),
        ("local", 4_096),
        ("something", WINDOW_DEFAULT),
        ("", WINDOW_DEFAULT),
        ("*" * 100_000, WINDOW_DEFAULT),
    ],
)
def test_known_models_have_theirs_and_others_a_careful_one(model: str, window: int) -> None:
    assert Windows().of("there", model) == window


def test_the_table_can_be_replaced() -> None:
    windows = Windows(ModelWindows(models={"mine-*": 7_000}))
    assert windows.of("there", "mine-1") == 7_000
    assert windows.of("there", "gpt-4") == WINDOW_DEFAULT


def test_the_server_is_believed_before_the_table_and_a_refusal_before_the_server() -> None:
    windows = Windows()
    windows.told("there", 16_000)
    assert windows.of("there", "gpt-4") == 16_000
    assert windows.of("elsewhere", "gpt-4") == 8_192
    windows.taught("there", 12_000)
    assert windows.of("there", "gpt-4") == 12_000
    windows.taught("there", 20_000)
    assert windows.of("there", "gpt-4") == 12_000


def test_what_was_learned_is_out_of_date_when_the_server_says_something_else() -> None:
    windows = Windows()
    windows.told("there", 16_000)
    assert windows.taught("there", 12_000) == Lesson(12_000, told=16_000)
    windows.told("there", 64_000)
    assert windows.of("there", "gpt-4") == 64_000


@pytest.mark.parametrize(
    ("lesson", "told", "window"),
    [
        (Lesson(6_000), None, 6_000),
        (Lesson(6_000), 7_000, 6_000),
        (Lesson(6_000, told=7_000), None, 6_000),
        (Lesson(6_000, told=7_000), 7_000, 6_000),
        (Lesson(6_000, told=7_000), 9_000, 9_000),
    ],
)
def test_what_another_session_learned_holds_unless_the_server_has_changed(
    lesson: Lesson, told: int | None, window: int
) -> None:
    for first in ("told", "remembered"):
        windows = Windows()
        if first == "told":
            windows.told("there", told)
        windows.remember("there", lesson)
        windows.told("there", told)
        assert windows.of("there", "gpt-4") == window


def test_what_this_session_learned_stands_before_what_another_did() -> None:
    windows = Windows()
    windows.taught("there", 5_000)
    windows.remember("there", Lesson(6_000))
    assert windows.of("there", "gpt-4") == 5_000


@pytest.mark.parametrize("window", [None, 0, -1, WINDOW_MAX + 1])
def test_what_cannot_be_a_window_is_not_believed(window: int | None) -> None:
    windows = Windows()
    windows.told("there", window)
    assert windows.of("there", "gpt-4") == 8_192
    windows.taught("there", 1)
    assert windows.of("there", "gpt-4") == WINDOW_MIN
