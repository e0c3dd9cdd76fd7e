"""Pictures as they are kept: scaled to what providers take, refused when they are none."""

import base64
import hashlib
import io
import os
from pathlib import Path

import pytest
from PIL import Image as Opened

from tests.support.pictures import bomb, picture
from trunkline import limits
from trunkline.execution.errors import PictureRefused
from trunkline.execution.llm.base import Message, Picture
from trunkline.execution.pictures.copying import copy_pictures
from trunkline.execution.pictures.pictures import CALL_PICTURES_MAX, Pictures
from trunkline.execution.pictures.scaling import BYTES_MAX, PIXELS_MAX, SIDE_PX_MAX, scaled
from trunkline.execution.tools.base import Image

LYING = Opened.Exif()
LYING[0x0112] = 6  # it has to be turned to be seen upright


@pytest.fixture
def pictures(tmp_path: Path) -> Pictures:
    return Pictures(tmp_path, os.environ)


def said(*kept: Picture) -> list[Message]:
    return [Message(role="user", content="Look.", pictures=[one]) for one in kept]


async def test_a_good_picture_is_kept_once_as_it_came(pictures: Pictures, tmp_path: Path) -> None:
    data = picture()
    first = await pictures.keep(Image("image/png", data, "dot.png"))
    second = await pictures.keep(Image("text/plain", data))
    assert first == {"media_type": "image/png", "path": first["path"], "name": "dot.png"}
    assert second == {"media_type": "image/png", "path": first["path"]}
    assert (tmp_path / first["path"]).read_bytes() == data
    assert await pictures.load(said(first)) == {first["path"]: base64.b64encode(data).decode()}


@pytest.mark.parametrize(
    ("data", "media_type", "size"),
    [
        (picture(kind="GIF"), "image/gif", (4, 3)),
        (picture(kind="WEBP"), "image/webp", (4, 3)),
        (picture(kind="BMP"), "image/png", (4, 3)),
        (picture(kind="TIFF"), "image/png", (4, 3)),
        (picture(3136, 100), "image/png", (SIDE_PX_MAX, 50)),
        (picture(100, 4000, "JPEG"), "image/jpeg", (39, SIDE_PX_MAX)),
        (picture(4, 3, "JPEG", exif=LYING), "image/jpeg", (3, 4)),
    ],
)
def test_a_picture_becomes_what_providers_take(
    data: bytes, media_type: str, size: tuple[int, int]
) -> None:
    told, content = scaled(data)
    assert told == {"media_type": media_type, "width": size[0], "height": size[1]}
    with Opened.open(io.BytesIO(content or data)) as made:
        assert made.size == size
        assert f"image/{(made.format or '').lower()}" == media_type


def test_what_is_still_too_large_is_packed_harder() -> None:
    noise = Opened.frombytes("RGB", (1200, 1200), os.urandom(1200 * 1200 * 3))
    out = io.BytesIO()
    noise.save(out, "PNG")
    told, content = scaled(out.getvalue())
    assert told["media_type"] == "image/jpeg"
    assert len(content) <= BYTES_MAX


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "0 bytes"),
        (bytes(limits.PICTURE_BYTES_MAX + 1), "bytes"),
        (b"<svg/>", "cannot be read"),
        (b"\x89PNG\r\n\x1a\n" + b"x" * 100, "cannot be read"),
        (picture(50, 50, "JPEG")[:300], "cannot be read"),
        (bomb(), f"{PIXELS_MAX:,} are the most"),
        (bomb(7_000), "cannot be read"),
    ],
    ids=["empty", "huge", "svg", "broken", "torn", "bomb", "lying bomb"],
)
async def test_what_is_no_picture_is_refused_in_words(
    pictures: Pictures, data: bytes, why: str
) -> None:
    with pytest.raises(PictureRefused, match=why):
        await pictures.keep(Image("image/png", data))


async def test_a_picture_that_is_gone_or_never_was_ours_is_known_as_gone(
    pictures: Pictures, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("x")
    kept = await pictures.keep(Image("image/png", picture()))
    (tmp_path / kept["path"]).unlink()
    outside = Picture(media_type="image/png", path="pictures/../secret")
    assert await pictures.load(said(kept, outside)) == {kept["path"]: None, outside["path"]: None}


async def test_only_the_newest_are_loaded_and_older_ones_left_out_in_steps(
    pictures: Pictures,
) -> None:
    paths = [f"pictures/{number:064x}" for number in range(CALL_PICTURES_MAX + 1)]
    kept = [Picture(media_type="image/png", path=path) for path in paths]
    assert list(await pictures.load(said(*kept))) == paths[:9:-1]
    assert len(await pictures.load(said(*kept[:-1]))) == CALL_PICTURES_MAX


def test_a_copy_gets_pictures_and_nothing_that_only_looks_like_one(tmp_path: Path) -> None:
    source, target, secret = tmp_path / "s1", tmp_path / "s2", tmp_path / "token"
    folder = source / "pictures"
    folder.mkdir(parents=True)
    target.mkdir()
    secret.write_bytes(b"the token")
    name = hashlib.sha256(b"a picture").hexdigest()
    (folder / name).write_bytes(b"a picture")
    (folder / hashlib.sha256(b"the token").hexdigest()).symlink_to(secret)
    (folder / ("a" * 64)).write_bytes(b"something else")
    (folder / "notes.txt").symlink_to(secret)
    os.mkfifo(folder / ("b" * 64))
    copy_pictures(source, target)
    assert [one.name for one in (target / "pictures").iterdir()] == [name]


def test_a_folder_of_pictures_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    for name in ("s1", "s2", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "s1" / "pictures").symlink_to(tmp_path / "elsewhere")
    copy_pictures(tmp_path / "s1", tmp_path / "s2")
    assert list((tmp_path / "s2").iterdir()) == []
