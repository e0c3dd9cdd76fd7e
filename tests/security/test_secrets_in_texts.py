"""Found open: tokens of AGP devices (`dev_`) and secrets of Yeaft agents (`ya_`) stood in logs and
messages in the clear; and keys in the commands of MCP servers, in the audit log."""

import time

import pytest

from trunkline.control.access.trail import shown
from trunkline.control.ids import new_secret
from trunkline.control.redaction import redact, redact_command
from trunkline.control.sessions.approval_entries import shown as asked_as


@pytest.mark.parametrize("prefix", ["tl", "tk", "dev", "ya"])
@pytest.mark.parametrize("text", ["{}", "agent {} refused", "'{}'", '{{"x": "{}"}}', "ws/{}/x"])
def test_no_secret_of_ours_is_shown_in_a_text(prefix: str, text: str) -> None:
    secret = new_secret(prefix)
    shown = redact(text.format(secret))
    assert secret[len(prefix) + 1 :] not in shown
    assert f"{prefix}_***" in shown


@pytest.mark.parametrize("text", ["dev_server", "dev_phone-1", "ya_hoo", "a dev_ice"])
def test_names_that_begin_like_one_are_shown(text: str) -> None:
    assert redact(text) == text


NAMES = (
    *("--api-key", "--api_key", "X-Api-Key", "apiKey", "API_KEY", "key", "--key", "OPENAI_KEY"),
    *("GITHUB_TOKEN", "token", "--access-token", "accessToken", "AWS_SECRET", "client-secret"),
    *("PGPASSWORD", "db_password", "ticket"),
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["{}=abcdef", "{}: abcdef", '{{"{}": "abcdef"}}', "a {}=abcdef b"])
def test_no_value_that_is_named_like_a_secret_is_shown(name: str, text: str) -> None:
    given = text.format(name)
    assert redact(given) == given.replace("abcdef", "***")


@pytest.mark.parametrize(
    ("args", "is_shown_as"),
    [
        (["--api-key=abcdef"], ["--api-key=***"]),
        (["-H", "X-Api-Key: zzz"], ["-H", "X-Api-Key: ***"]),
        (["-e", "GITHUB_TOKEN=ghp_abc"], ["-e", "GITHUB_TOKEN=***"]),
        (["OPENAI_KEY=abc"], ["OPENAI_KEY=***"]),
        (["--openai-key", "abc", "x"], ["--openai-key", "***", "x"]),
        (["--password=two words"], ["--password=***"]),
        (["Authorization: Basic abc"], ["Authorization: ***"]),
        (["--cookie=a=b; c=d"], ["--cookie=***"]),
        (["GOOGLE_CREDENTIALS=abc"], ["GOOGLE_CREDENTIALS=***"]),
        (["-c", "tool --api-key abcdef x"], ["-c", "tool --api-key *** x"]),
        (["-c", "tool --api-key 'two words' x"], ["-c", "tool --api-key *** x"]),
        (["-c", 'tool "--token" "abc" x'], ["-c", 'tool "--token" *** x']),
        (["-c", "tool -openai-key abc"], ["-c", "tool -openai-key ***"]),
        (["-c", "KEY_A=1 DB_PASSWORD=abc tool"], ["-c", "KEY_A=1 DB_PASSWORD=*** tool"]),
        (["-c", "curl -u ann:geheim http://x"], ["-c", "curl -u ann:*** http://x"]),
        (["-c", "curl --user 'ann:geheim 2' x"], ["-c", "curl --user 'ann:***' x"]),
        (["-c", "curl -H 'Authorization: Basic abc'"], ["-c", "curl -H 'Authorization: ***'"]),
        (["-c", "curl -H 'Cookie: a=b; c=d' y"], ["-c", "curl -H 'Cookie: ***' y"]),
        (["-c", "ls --max-tokens 5 --keys x"], ["-c", "ls --max-tokens 5 --keys x"]),
        (["--max-tokens=5", "--url=http://x/?a=b"], ["--max-tokens=5", "--url=http://x/?a=b"]),
    ],
)
def test_no_secret_in_a_command_reaches_the_audit_log(
    args: list[str], is_shown_as: list[str]
) -> None:
    assert shown(args) == is_shown_as


@pytest.mark.parametrize(
    "given",
    [
        {"command": "tool --api-key abcdef"},
        {"command": 'tool --api-key "abcdef" | cat'},
        {"command": "tool --password 'abc\\def abcdef'"},
    ],
)
def test_nor_does_one_in_a_command_that_somebody_is_asked_about(given: dict[str, str]) -> None:
    entry = asked_as("q", {"tool_name": "bash", "tool_input": given})
    assert "abcdef" not in entry["asked"]
    assert "tool --" in entry["asked"]


@pytest.mark.parametrize("piece", ["a-", "a_", "-", "token-", "key_", "x", "token=", "api-key:"])
def test_a_long_text_does_not_hold_up_the_server(piece: str) -> None:
    """A quadratic search would take minutes."""
    started = time.process_time()
    redact(piece * 200_000)
    redact_command(piece * 20_000)
    assert time.process_time() - started < 5


@pytest.mark.parametrize("text", ["max_tokens=5", "a monkey: brown", "the keys: a, b", "hockey=1"])
def test_words_that_end_like_one_are_shown(text: str) -> None:
    assert redact(text) == text
