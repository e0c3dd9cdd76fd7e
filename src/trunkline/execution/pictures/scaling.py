"""A program of its own: reads a picture, writes it as model providers take it.

Started for one picture and bounded in memory and time, because the bytes come from strangers and
a small file may unpack to gigabytes. It imports nothing of ours, so that it starts quickly.

Reads the picture from standard input. Writes one line of JSON (`problem`, or `media_type`, `width`
and `height`), and behind it the bytes to keep; none where the picture is good as it came.
"""

import io
import json
import resource
import sys
from typing import Any

MEMORY_BYTES_MAX = 1024 * 1024 * 1024
CPU_S_MAX = 20
PIXELS_MAX = 64_000_000
SIDE_PX_MAX = 1568  # what both providers look at; a larger one is only slower
BYTES_MAX = 3_750_000  # 5 MB as base64, Anthropic's limit for one picture

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
_TAKEN = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "GIF": "image/gif",
    "WEBP": "image/webp",
}
_JPEG_QUALITIES = (85, 60, 40)
_ORIENTATION = 0x0112


class _Unusable(Exception):
    """Its text says why, for people and models."""


def scaled(data: bytes) -> tuple[dict[str, Any], bytes]:
    """What is said of the picture, and its new bytes. Raises what makes it unusable."""
    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = None  # counted here, before anything is unpacked
    with Image.open(io.BytesIO(data), formats=FORMATS) as opened:
        width, height = opened.size
        if width * height > PIXELS_MAX:
            raise _Unusable(f"it has {width} x {height} pixels, and {PIXELS_MAX:,} are the most")
        kind = opened.format or ""
        is_plain = not getattr(opened, "is_animated", False)
        is_plain = is_plain and opened.getexif().get(_ORIENTATION, 1) == 1
        fits = max(width, height) <= SIDE_PX_MAX and len(data) <= BYTES_MAX
        if kind == "JPEG":
            opened.draft("RGB", (SIDE_PX_MAX, SIDE_PX_MAX))
        opened.load()  # a picture that is torn is found out here
        if kind in _TAKEN and is_plain and fits:
            return _said(_TAKEN[kind], width, height), b""
        upright = ImageOps.exif_transpose(opened)
        upright.thumbnail((SIDE_PX_MAX, SIDE_PX_MAX), Image.Resampling.LANCZOS)
        media_type, content = _encoded(upright, is_photo=kind == "JPEG")
        return _said(media_type, *upright.size), content


def _encoded(picture: Any, *, is_photo: bool) -> tuple[str, bytes]:
    if not is_photo:
        is_known = picture.mode in ("1", "L", "LA", "P", "RGB", "RGBA")
        content = _saved(picture if is_known else picture.convert("RGB"), "PNG")
        if len(content) <= BYTES_MAX:
            return "image/png", content
    flat = _on_white(picture)
    for quality in _JPEG_QUALITIES:
        content = _saved(flat, "JPEG", quality=quality)
        if len(content) <= BYTES_MAX:
            return "image/jpeg", content
    raise _Unusable(f"it has more than {BYTES_MAX} bytes, however it is packed")


def _on_white(picture: Any) -> Any:
    from PIL import Image

    if picture.mode not in ("LA", "P", "PA", "RGBA"):
        return picture.convert("RGB")
    above = picture.convert("RGBA")
    flat = Image.new("RGB", above.size, "white")
    flat.paste(above, mask=above.getchannel("A"))
    return flat


def _saved(picture: Any, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def _said(media_type: str, width: int, height: int) -> dict[str, Any]:
    return {"media_type": media_type, "width": width, "height": height}


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S_MAX, CPU_S_MAX))
    content = b""
    try:
        said, content = scaled(sys.stdin.buffer.read())
    except _Unusable as error:
        said = {"problem": str(error)}
    except MemoryError:
        said = {"problem": "it takes too much memory to be unpacked"}
    except Exception as error:  # Pillow's readers raise whatever a broken file leads them to
        said = {"problem": f"it cannot be read ({type(error).__name__})"}
    sys.stdout.buffer.write(json.dumps(said).encode() + b"\n" + content)


if __name__ == "__main__":
    main()
