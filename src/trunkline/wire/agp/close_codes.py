"""Why a device's line is closed. Close codes are API: each says when it happens and what to do.

Apps stop for good at 1008 and come back after anything else (3 s, then longer, at most 25 s).

| code | when                                                              | the app should       |
| ---- | ----------------------------------------------------------------- | -------------------- |
| 1000 | the device said goodbye                                           |                      |
| 1001 | the control plane is going down                                   | come back            |
| 1002 | the peer broke RFC 6455                                           | be fixed             |
| 1003 | a binary frame; the protocol is JSON text only                    | be fixed             |
| 1007 | text that is not UTF-8                                            | be fixed             |
| 1008 | the token is wrong, was renewed, or is not that `guid`'s;         | stop                 |
|      | or a newer connection of the same `guid` took over                | leave it to the newer|
| 1009 | a message over 10 MB                                              | send less, come back |
| 1011 | a fault of the control plane                                      | come back            |
| 4003 | the device was removed; the next attempt ends with 1008           |                      |
| 4008 | five minutes without a message or a ping, either way              | come back            |
| 4029 | too many messages in a minute (streamed updates do not count)     | slow down, come back |
"""

from enum import IntEnum


class CloseCode(IntEnum):
    GOING_AWAY = 1001
    REFUSED = 1008
    IDLE = 4008
