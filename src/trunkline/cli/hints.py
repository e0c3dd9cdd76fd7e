"""What to do next about a request that failed: the end of the one line that a command says."""

import re

from trunkline.client import ApiError, Unreachable
from trunkline.client.errors import QUOTA_REACHED

_HERE = re.compile(r"://(?:localhost|127\.[\d.]+|\[::1\])(?:[:/ ]|$)")
_BY_CODE = {
    "APPROVAL_NOT_FOUND": "`trunkline session approvals` lists those that wait",
    "MACHINE_OFFLINE": "`trunkline machine list --terminated` shows it; `trunkline node` starts it",
}
_BY_STATUS = {
    401: "give --token, or set TRUNKLINE_TOKEN or TRUNKLINE_DATA",
    403: "`trunkline user me` shows whose token this is; it may have another role, or fewer scopes",
    413: "send less at once",
    429: "wait a moment",
    502: "a proxy is in between: is the server running behind it?",
    503: "try again in a moment; the server's log says more",
    504: "a proxy in between got no answer in time: try again in a moment",
}


def of_refusal(error: ApiError) -> str:
    """Empty where the message says it all."""
    if error.code == QUOTA_REACHED:
        return ""
    hint = _BY_CODE.get(error.code) or _BY_STATUS.get(error.status)
    return f"; {hint}" if hint else ""


def of_silence(error: Unreachable) -> str:
    said = str(error)
    if "does not answer" not in said:
        return "; is this the address of a Trunkline server? (--url, TRUNKLINE_URL)"
    if _HERE.search(said):
        return "; is it running? (trunkline up)"
    return "; is it running there, and does its address lead there from here? (--url)"
