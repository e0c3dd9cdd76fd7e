"""A failed request ends with what to do next."""

import pytest

from trunkline.cli.output import CommandFailed
from trunkline.cli.remote import failures
from trunkline.client import ApiError, ClientError, Unreachable


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            Unreachable("http://127.0.0.1:8080 does not answer: refused"),
            "http://127.0.0.1:8080 does not answer: refused; is it running? (trunkline up)",
        ),
        (Unreachable("http://localhost does not answer: refused"), "(trunkline up)"),
        (Unreachable("http://[::1]:80 does not answer: refused"), "(trunkline up)"),
        (
            Unreachable("https://trunk.example does not answer: no such name"),
            "; is it running there, and does its address lead there from here? (--url)",
        ),
        (Unreachable("http://127.0.0.1.evil.example does not answer: x"), "running there"),
        (
            Unreachable("https://x.y answered 404, and not as Trunkline"),
            "is this the address",
        ),
        (ApiError(401, "UNAUTHORIZED", "no token"), "no token (UNAUTHORIZED); give --token"),
        (ApiError(403, "FORBIDDEN", "not yours"), "`trunkline user me` shows whose token"),
        (ApiError(429, "RATE_LIMITED", "slowly"), "; wait a moment"),
        (ApiError(429, "QUOTA_REACHED", "no room: remove some"), "remove some (QUOTA_REACHED)|"),
        (ApiError(503, "MACHINE_OFFLINE", "not online"), "; `trunkline machine list --terminated`"),
        (ApiError(502, "BAD_GATEWAY", "the server answered 502"), "behind it?"),
        (ApiError(400, "INVALID_REQUEST", "a\x1b[2J"), "a\\x1b[2J (INVALID_REQUEST)"),
        (ClientError("odd\n"), "odd\\n"),
    ],
)
def test_a_failure_is_one_line_that_says_what_next(error: Exception, said: str) -> None:
    with pytest.raises(CommandFailed) as failed, failures():
        raise error
    assert said in f"{failed.value}|"
    assert "\n" not in str(failed.value)
