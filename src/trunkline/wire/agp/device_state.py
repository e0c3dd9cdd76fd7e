"""What is known of an AGP device. A value, which can be saved, loaded and compared; `Device` is the
only one that changes it."""

import msgspec

from trunkline.wire.agp.commands import DEFAULT_APP
from trunkline.wire.agp.inward import Inward
from trunkline.wire.agp.messages import Cancel
from trunkline.wire.repeats import Repeats


class DeviceState(msgspec.Struct):
    guid: str
    user_id: str
    repeats: Repeats
    default_app: str = DEFAULT_APP
    apps: dict[str, str] = {}
    """The app that a session's agent asks for, where it asks for one."""
    is_up: bool = False
    work: dict[str, Inward] = {}
    """What came of the active turn of each session."""
    current: dict[str, str] = {}
    """The active turn of each session."""
    cancels: dict[str, Cancel] = {}
    """What the device is to end, by turn, until it has: it is told again when it returns."""
    settled: dict[str, None] = {}
    """Turns whose end the device has said lately, after they had ended here."""
    stopped: dict[str, None] = {}
    """Sessions that were closed or moved away lately: it may still speak of them."""
    grace: dict[str, float] = {}
    """Until when it may take to end a turn that a person has stopped."""
    silent: dict[str, float] = {}
    """Active turns, and since when the device, while here, has said nothing of them."""
    returned: set[str] = set()
    """Those that it had before its line came back, and has not spoken of since."""

    def encode(self) -> bytes:
        return msgspec.json.encode(self)


decode = msgspec.json.Decoder(DeviceState).decode
