"""Secrets and control characters never reach what people are shown."""

import pytest

from trunkline.control.ids import new_secret
from trunkline.control.redaction import is_secret_name, redact

JWT = "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJ1c2VyX2lkIjoiMSJ9.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    "secret",
    [new_secret("tl"), new_secret("tk"), JWT, JWT[:30], "sk-ant-api03-abcdefghijk"],
    ids=["admin token", "token", "JWT", "half a JWT", "a provider's key"],
)
@pytest.mark.parametrize("text", ["{}", "before {} after", "'{}'", '{{"x": "{}"}}', "ws/{}/x"])
def test_a_secret_is_taken_out_wherever_it_stands(secret: str, text: str) -> None:
    shown = redact(text.format(secret))
    assert secret not in shown
    assert "***" in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("GET /ws/vm?user_id=1&ticket=abc HTTP", "GET /ws/vm?user_id=1&ticket=*** HTTP"),
        ("/ws/agp?guid=1&token=abc#x", "/ws/agp?guid=1&token=***#x"),
        ("/login?code=abc", "/login?code=***"),
        ('{"api_key": "abc", "n": 1}', '{"api_key": "***", "n": 1}'),
        ("postgresql+asyncpg://me:hunter2@db/x", "postgresql+asyncpg://me:***@db/x"),
        ("Authorization: Bearer abcdefghijkl", "Authorization: Bearer ***"),
    ],
)
def test_the_value_of_a_secret_parameter_is_hidden_and_the_rest_stays(
    text: str, shown: str
) -> None:
    assert redact(text) == shown


@pytest.mark.parametrize(
    "text", ["the token has expired", "session 0190-aa", "tl_dr", "closed with code=4001", ""]
)
def test_text_without_a_secret_is_left_alone(text: str) -> None:
    assert redact(text) == text


def test_names_of_secrets_are_known_and_names_of_counts_are_not() -> None:
    assert all(map(is_secret_name, ("token", "vm_token", "API_KEY", "ticket", "Cookie")))
    assert not any(map(is_secret_name, ("tokens_in", "max_tokens", "session", "key", "")))
