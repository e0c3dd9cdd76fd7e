"""Which wire a WebSocket at `/` speaks, by its query: clients of the original servers connect with
the URL that they already have. Pure."""

from collections.abc import Mapping

from trunkline.control.errors import InvalidRequest
from trunkline.control.machines.secrets import is_device_token

MYAGENT = "/ws/myagent"
YEAFT_AGENT = "/ws/yeaft?type=agent"
YEAFT_WEB = "/ws/yeaft?type=web"
AGP = "/ws/agp"


def path_of(path: str, query: Mapping[str, str]) -> str:
    """The name under which the wire is served."""
    if path not in ("/", "/ws/yeaft"):
        return path
    match query.get("type"):
        case "agent":
            return YEAFT_AGENT
        case "web":
            return YEAFT_WEB
    if path != "/":
        raise InvalidRequest("type in the URL must be agent or web")
    if "guid" in query or is_device_token(query.get("token", "")):
        return AGP
    return MYAGENT
