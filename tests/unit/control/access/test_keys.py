"""Keys and private files: made once, whole, and for nobody else's eyes."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidTag

from trunkline.control.access import key_files
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


def test_keys_may_be_one_file_which_is_a_folders_keys_in_text(tmp_path: Path) -> None:
    file = tmp_path / "vault" / "keys.pem"
    made = Keys.open(file)
    assert (mode(file), mode(file.parent)) == (0o600, 0o700)
    again = Keys.open(file)
    assert again.unseal(made.seal("sk-1", "x"), "x") == "sk-1"
    assert again.signing.private_numbers() == made.signing.private_numbers()
    key_files.write(tmp_path / "folder", key_files.read(file))
    folder = Keys.open(tmp_path / "folder")
    assert folder.unseal(made.seal("sk-1", "x"), "x") == "sk-1"
    assert folder.push.private_numbers() == made.push.private_numbers()
    mounted = tmp_path / "secret"  # whatever it is called: it is there, and a file
    mounted.write_bytes(file.read_bytes())
    assert Keys.open(mounted).unseal(made.seal("sk-1", "x"), "x") == "sk-1"


def test_the_manuals_way_from_a_folder_to_a_file_is_the_right_one(tmp_path: Path) -> None:
    """docs/operate/running.md, Keys in one file"""
    made = Keys.open(tmp_path / "keys")
    file = tmp_path / "keys.pem"
    command = (
        "for name in signing.pem sealing.key vapid.pem; do"
        ' label="TRUNKLINE $(echo ${name%.*} | tr a-z A-Z) KEY";'
        ' echo "-----BEGIN $label-----"; base64 keys/$name; echo "-----END $label-----"; done'
    )
    assert command in Path("docs/operate/running.md").read_text(encoding="utf-8")
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, check=True)
    file.write_bytes(done.stdout)
    assert Keys.open(file).unseal(made.seal("sk-1", "x"), "x") == "sk-1"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: "my shopping list", "something else than whole blocks"),
        (
            lambda text: text.replace("-----END TRUNKLINE SEALING", "----END TRUNKLINE SEALING", 1),
            "something else",
        ),
        (lambda text: text + "\n" * 70_000, "something else"),
        (lambda text: text + "\N{SNOWMAN}", "is no file of keys"),
        (lambda text: text + text, "a second block"),
        (lambda text: text.replace("SEALING", "OTHER"), "unknown"),
        (lambda text: text.replace("SEALING KEY-----\n", "SEALING KEY-----\nAAAA", 1), "damaged"),
    ],
)
def test_a_file_that_holds_something_else_is_said_and_not_replaced(
    tmp_path: Path, change: Callable[[str], str], said: str
) -> None:
    file = tmp_path / "keys.pem"
    Keys.open(file)
    file.write_text(change(file.read_text()), encoding="utf-8")
    before = file.read_bytes()
    with pytest.raises(Unavailable, match=said):
        Keys.open(file)
    assert file.read_bytes() == before


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
