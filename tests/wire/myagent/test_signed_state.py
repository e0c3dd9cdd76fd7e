"""Signed state: it opens with its key, unchanged and in its time, and never else."""

import hashlib
import hmac
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.wire.myagent.signed_state import StateRefused, open_state, sign

KEY, NOW, LIFE = b"k" * 32, 1_800_000_000_000, 1000
STATES = st.dictionaries(st.text(max_size=5), st.text(max_size=9) | st.integers(0, 2**53))


def opened(given_state: object, key: bytes = KEY, now: int = NOW) -> dict[str, object]:
    return open_state(key, given_state, now, life_ms=LIFE, bytes_max=10_000)


@given(STATES)
def test_a_state_opens_as_it_was(state: dict[str, object]) -> None:
    kept = msgspec.json.decode(msgspec.json.encode(sign(KEY, state, NOW)))
    assert opened(kept) == state


@given(STATES, STATES)
def test_another_state_under_the_same_signature_does_not(
    state: dict[str, object], other: dict[str, object]
) -> None:
    kept = msgspec.to_builtins(sign(KEY, state, NOW))
    if other != state:
        with pytest.raises(StateRefused):
            opened({**kept, "state": other})


@pytest.mark.proves("notes-2-signed-state-hmac")
def test_the_signature_is_hmac_sha_256_of_all_that_is_beside_it() -> None:
    signed = msgspec.to_builtins(sign(KEY, {"b": "é", "a": 1}, NOW))
    signature = signed.pop("signature")
    text = json.dumps(signed, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert signature == hmac.new(KEY, text.encode(), hashlib.sha256).hexdigest()
    state = json.dumps(signed["state"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert signed["checksum"] == hashlib.sha256(state.encode()).hexdigest()


def test_another_key_does_not_open_it() -> None:
    kept = msgspec.to_builtins(sign(KEY, {"a": 1}, NOW))
    with pytest.raises(StateRefused) as refused:
        opened(kept, key=b"other")
    assert refused.value.code == "STATE_INVALID"


def test_it_opens_until_its_time_is_over() -> None:
    kept = msgspec.to_builtins(sign(KEY, {"a": 1}, NOW))
    assert opened(kept, now=NOW + LIFE)
    with pytest.raises(StateRefused) as refused:
        opened(kept, now=NOW + LIFE + 1)
    assert refused.value.code == "STATE_EXPIRED"


def test_one_that_is_too_large_does_not() -> None:
    kept = msgspec.to_builtins(sign(KEY, {"a": "x" * 20_000}, NOW))
    with pytest.raises(StateRefused):
        opened(kept)
