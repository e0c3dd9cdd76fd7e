"""Why a device's line is closed. Close codes are API: each says when it happens and what to do.

docs/protocols/agp.md#close-codes. Known apps come back after any of them, and an accepted WebSocket
makes them begin their waits anew; so what can be refused is refused in the handshake.

| code | when                                                           | the app should          |
| ---- | -------------------------------------------------------------- | ----------------------- |
| 1000 | the device ended the line                                      | as it likes             |
| 1001 | the control plane is going down                                | come back               |
| 1002 | the device broke RFC 6455                                      | be fixed                |
| 1003 | a binary frame; the protocol is JSON text only                 | be fixed                |
| 1007 | text that is not UTF-8                                         | be fixed                |
| 1008 | the token was renewed or revoked; a newer line took over       | stop                    |
| 1009 | a message over 10 MB                                           | send less, come back    |
| 1011 | a fault of the control plane                                   | come back               |
| 4003 | the device was removed; its next attempt gets HTTP 401         | stop                    |
| 4008 | five minutes without a message or a ping, either way           | come back               |
| 4029 | too many messages in a minute (updates do not count)           | slow down, come back    |
"""

from enum import IntEnum


class CloseCode(IntEnum):
    OK = 1000
    GOING_AWAY = 1001
    PROTOCOL_ERROR = 1002
    UNSUPPORTED_DATA = 1003
    INVALID_TEXT = 1007
    REFUSED = 1008
    MESSAGE_TOO_BIG = 1009
    INTERNAL_ERROR = 1011
    REMOVED = 4003
    IDLE = 4008
    RATE_LIMITED = 4029
