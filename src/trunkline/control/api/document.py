"""Prints the OpenAPI document, for whoever makes a client of it: no server has to run."""

import sys

import msgspec

from trunkline.control.api.http import ROUTES
from trunkline.control.api.openapi import describe


def main() -> None:
    document = msgspec.json.encode(describe(ROUTES), order="sorted")
    sys.stdout.buffer.write(msgspec.json.format(document, indent=1) + b"\n")


if __name__ == "__main__":
    main()
