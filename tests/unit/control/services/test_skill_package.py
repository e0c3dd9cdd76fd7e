"""Skill packages from zips and folders: what is refused, and why."""

import io
import os
import stat
import struct
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline import limits
from trunkline.control.errors import InvalidRequest, TooLarge, TrunklineError
from trunkline.control.services.skill_package import ZIP_ENTRIES_MAX, check_path, from_zip

SKILL_MD = b"---\nname: pdf\ndescription: Reads PDFs\n---\nDo it.\n"


def zipped(
    *entries: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED
) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return buffer.getvalue()


def test_a_zip_gives_its_files_by_path() -> None:
    data = zipped(("SKILL.md", SKILL_MD), ("scripts/main.py", b"print()"), ("空/文.txt", b"\xff"))
    assert from_zip(data) == {
        "SKILL.md": SKILL_MD,
        "scripts/main.py": b"print()",
        "空/文.txt": b"\xff",
    }


def test_one_top_folder_and_what_file_managers_add_are_left_out() -> None:
    data = zipped(
        ("pdf/", b""),
        ("pdf/SKILL.md", SKILL_MD),
        ("pdf/scripts/a.py", b""),
        ("__MACOSX/pdf/._SKILL.md", b"x"),
        ("pdf/.DS_Store", b"x"),
    )
    assert set(from_zip(data)) == {"SKILL.md", "scripts/a.py"}


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/etc/passwd", "absolute"),
        ("C:/x", "absolute"),
        ("../x", "'..'"),
        ("a/../../x", "'..'"),
        ("a/..", "'..'"),
        ("a\\..\\x", "backslash"),
        ("a//b", "bad name"),
        ("./a", "bad name"),
        ("a/.", "bad name"),
        ("a /b", "bad name"),
        ("a./b", "bad name"),
        ("a\x00b", "bad name"),
        ("a\nb", "bad name"),
        ("file:stream", "bad name"),
        ("a/" * 20 + "b", "too deeply"),
        ("x" * 300, "bad name"),
        ("x/" * 300, "too many characters"),
        ("\udc80", "Unicode"),
        ("", "no or too many"),
    ],
)
def test_a_bad_path_is_refused_with_its_reason(path: str, reason: str) -> None:
    with pytest.raises(InvalidRequest, match=reason) as caught:
        check_path(path)
    assert caught.value.code == "SKILL_INVALID"


@pytest.mark.parametrize("path", ["/abs", "../out", "a/../../out", "a\\b", "dir/../../"])
def test_a_zip_with_a_bad_path_is_refused(path: str) -> None:
    with pytest.raises(InvalidRequest):
        from_zip(zipped(("SKILL.md", SKILL_MD), (path, b"x")))


def test_what_a_nul_hides_in_a_name_is_seen() -> None:
    data = zipped(("SKILL.md", SKILL_MD), ("aXb", b"x")).replace(b"aXb", b"a\x00b")
    with pytest.raises(InvalidRequest, match="bad name"):
        from_zip(data)


@pytest.mark.parametrize(
    ("kind", "reason"), [(stat.S_IFLNK, "is a link"), (stat.S_IFIFO, "neither a file")]
)
def test_links_and_special_files_of_a_zip_are_refused(kind: int, reason: str) -> None:
    entry = zipfile.ZipInfo("link")
    entry.external_attr = (kind | 0o777) << 16
    with pytest.raises(InvalidRequest, match=reason):
        from_zip(zipped(("SKILL.md", SKILL_MD), (entry, b"/etc/passwd")))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("a.txt", "a.txt", "twice"),
        ("a.txt", "A.txt", "same name"),
        ("scripts/a", "Scripts/b", "same name"),
        ("a", "a/b", "same name"),
        ("a/b", "A", "same name"),
        ("\u00e9", "e\u0301", "same name"),
        ("straße", "STRASSE", "same name"),
    ],
)
def test_names_that_would_meet_on_a_disk_are_refused(one: str, other: str, reason: str) -> None:
    with pytest.raises(InvalidRequest, match=reason):
        from_zip(zipped((one, b"1"), (other, b"2")))


def test_too_many_files_are_refused() -> None:
    entries = [(f"f{i}", b"") for i in range(limits.SKILL_FILES_MAX + 1)]
    with pytest.raises(TooLarge, match=f"more than {limits.SKILL_FILES_MAX} files"):
        from_zip(zipped(*entries))


def test_too_many_records_are_refused_before_the_archive_is_opened() -> None:
    with pytest.raises(TooLarge, match="entries"):
        from_zip(b"PK\x01\x02" * (ZIP_ENTRIES_MAX + 1))


def test_a_file_that_unpacks_to_too_much_is_refused() -> None:
    bomb = zipped(("zeros", bytes(limits.SKILL_FILE_BYTES_MAX + 1)))
    assert len(bomb) < 100_000
    with pytest.raises(TooLarge, match="zeros") as caught:
        from_zip(bomb)
    assert caught.value.code == "SKILL_TOO_LARGE"


def test_many_files_that_unpack_to_too_much_together_are_refused() -> None:
    each = limits.SKILL_FILE_BYTES_MAX
    count = limits.SKILL_PACKAGE_BYTES_MAX // each + 1
    with pytest.raises(TooLarge, match="unpacked"):
        from_zip(zipped(*((f"f{i}", bytes(each)) for i in range(count))))


def test_sizes_that_an_archive_declares_prove_nothing() -> None:
    size = limits.SKILL_FILE_BYTES_MAX + 1
    data = zipped(("zeros", bytes(size)))
    lie = data.replace(struct.pack("<L", size), struct.pack("<L", 10))
    assert lie != data
    with pytest.raises(TrunklineError):
        from_zip(lie)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compression_than_deflate_is_refused(method: int) -> None:
    with pytest.raises(InvalidRequest, match="deflate"):
        from_zip(zipped(("SKILL.md", SKILL_MD), method=method))


def test_an_encrypted_entry_is_refused() -> None:
    data = bytearray(zipped(("SKILL.md", SKILL_MD)))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(InvalidRequest, match="encrypted"):
        from_zip(bytes(data))


@given(st.binary(max_size=300))
def test_bytes_that_are_no_zip_are_refused_and_never_crash(data: bytes) -> None:
    with pytest.raises(InvalidRequest):
        from_zip(data)


@given(st.data())
def test_a_damaged_zip_is_refused_or_read_but_never_crashes(data: st.DataObject) -> None:
    archive = bytearray(zipped(("SKILL.md", SKILL_MD), ("scripts/a.py", b"print(1)" * 20)))
    for _ in range(data.draw(st.integers(1, 5))):
        archive[data.draw(st.integers(0, len(archive) - 1))] = data.draw(st.integers(0, 255))
    try:
        files = from_zip(bytes(archive))
    except TrunklineError:
        return
    for path in files:
        check_path(path)


@given(st.text(max_size=40))
def test_a_path_that_passes_stays_below_its_folder(path: str) -> None:
    try:
        check_path(path)
    except InvalidRequest:
        return
    assert os.path.normpath(f"/srv/skill/{path}") == f"/srv/skill/{path}"
    assert "\\" not in path
