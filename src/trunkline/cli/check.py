"""One line of the doctor's report."""

from typing import Literal

import msgspec

State = Literal["ok", "missing", "fail"]
"""`fail`: `trunkline up` cannot work here; `missing`: some part of it cannot."""


class Check(msgspec.Struct, frozen=True):
    name: str
    state: State
    detail: str
    fix: str = ""
