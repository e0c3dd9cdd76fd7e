"""Small documents for tests."""

import json
import zlib
from typing import Any


def pdf(*pages: str, stream: bytes | None = None) -> bytes:
    """A small file with that text on its pages."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{3 + 2 * number} 0 R" for number in range(len(pages)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode())
    font = "/Resources << /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    for number, text in enumerate(pages):
        body = f"BT /F 12 Tf 50 700 Td ({text}) Tj ET".encode() if stream is None else stream
        packed = zlib.compress(body)
        page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] {font} /Contents "
        objects.append(f"{page}{4 + 2 * number} 0 R >>".encode())
        head = f"<< /Length {len(packed)} /Filter /FlateDecode >>\nstream\n".encode()
        objects.append(head + packed + b"\nendstream")
    made, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    return made + head + table + end % (len(objects) + 1, len(made))


def notebook(*cells: Any) -> str:
    return json.dumps({"cells": list(cells), "nbformat": 4})
