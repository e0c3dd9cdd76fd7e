"""Keys and private files: made once, whole, and for nobody else's eyes."""

from pathlib import Path

import pytest
from cryptography.exceptions import InvalidTag

from trunkline.control.access.keys import Keys
from trunkline.control.errors import Unavailable
from trunkline.private_files import write_private


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_private_file_is_whole_and_only_for_its_user(tmp_path: Path) -> None:
    path = tmp_path / "new" / "secret.txt"
    write_private(path, "first\n")
    path.with_name("secret.txt.new").write_text("left by a start that was killed")
    write_private(path, b"second\n")
    assert path.read_text() == "second\n"
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)
    assert [one.name for one in path.parent.iterdir()] == ["secret.txt"]


def test_keys_are_made_once_and_read_again(tmp_path: Path) -> None:
    made = Keys.open(tmp_path / "keys")
    sealed = made.seal("sk-1", "credentials/1")
    again = Keys.open(tmp_path / "keys")
    assert again.unseal(sealed, "credentials/1") == "sk-1"
    assert again.signing.private_numbers() == made.signing.private_numbers()
    assert again.push.private_numbers() == made.push.private_numbers()
    assert {mode(path) for path in (tmp_path / "keys").iterdir()} == {0o600}
    assert mode(tmp_path / "keys") == 0o700
    with pytest.raises(InvalidTag):
        again.unseal(sealed, "credentials/2")


@pytest.mark.parametrize(
    ("name", "content"),
    [("signing.pem", "no key"), ("sealing.key", "short"), ("vapid.pem", "no key")],
)
def test_a_damaged_key_is_said_and_not_replaced(tmp_path: Path, name: str, content: str) -> None:
    Keys.open(tmp_path)
    (tmp_path / name).write_text(content)
    with pytest.raises(Unavailable):
        Keys.open(tmp_path)
    assert (tmp_path / name).read_text() == content
