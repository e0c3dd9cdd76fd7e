"""API keys in `init` are encrypted for the VM's token alone
(docs/protocols/semibot.md#api-keys)."""

import base64

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.wire.errors import Malformed
from trunkline.wire.semibot.keys import NONCE_BYTES, decrypt_key, encrypt_key
from trunkline.wire.semibot.messages import EncryptedKey

# Computed with another implementation (Node's crypto): key = SHA-256("semibot:init:vm-token-1"),
# nonce 00 01 … 0b, associated data "semibot:init:api_keys", text "sk-test-1234567890".
TOKEN = "vm-token-1"
API_KEY = "sk-test-1234567890"
NONCE = bytes(range(12))
VECTOR = EncryptedKey(
    alg="aes-256-gcm",
    iv="AAECAwQFBgcICQoL",
    tag="vcG/+bveY+KVd3J5cncTow==",
    ciphertext="iE/ZjF9HiqH/Lh7gUvjbslGc",
)


@pytest.mark.proves("000-9-api-keys-encrypted")
def test_a_key_is_encrypted_as_deployed_daemons_expect() -> None:
    assert encrypt_key(API_KEY, TOKEN, NONCE) == VECTOR


def test_a_key_that_another_implementation_encrypted_is_read() -> None:
    assert decrypt_key(VECTOR, TOKEN) == API_KEY


def test_a_plain_key_of_an_older_control_plane_is_read() -> None:
    assert decrypt_key("sk-plain", TOKEN) == "sk-plain"


@given(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.binary(min_size=NONCE_BYTES, max_size=NONCE_BYTES),
)
def test_what_was_encrypted_for_a_token_is_read_with_it(
    api_key: str, token: str, nonce: bytes
) -> None:
    assert decrypt_key(encrypt_key(api_key, token, nonce), token) == api_key


def test_a_key_is_nothing_without_its_token() -> None:
    with pytest.raises(Malformed):
        decrypt_key(VECTOR, "vm-token-2")


@pytest.mark.parametrize("part", ["iv", "tag", "ciphertext"])
def test_a_changed_bit_is_noticed(part: str) -> None:
    data = bytearray(base64.b64decode(getattr(VECTOR, part)))
    data[0] ^= 1
    changed = msgspec.structs.replace(VECTOR, **{part: base64.b64encode(data).decode()})
    with pytest.raises(Malformed):
        decrypt_key(changed, TOKEN)


@pytest.mark.parametrize("part", ["iv", "tag", "ciphertext"])
@pytest.mark.parametrize("value", ["", "=", "A", "钥匙", "AAAA", "\x00" * 9])
def test_parts_that_are_no_base64_or_too_short_are_malformed(part: str, value: str) -> None:
    with pytest.raises(Malformed):
        decrypt_key(msgspec.structs.replace(VECTOR, **{part: value}), TOKEN)


def test_the_message_never_repeats_the_key() -> None:
    with pytest.raises(Malformed) as caught:
        decrypt_key(msgspec.structs.replace(VECTOR, tag="AAAA"), TOKEN)
    assert VECTOR.ciphertext not in str(caught.value)
    assert TOKEN not in str(caught.value)
