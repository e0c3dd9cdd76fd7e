"""Why a client's connection is closed. Close codes are API: each says when and what to do.

docs/protocols/myagent.md#close-codes

| code | when                                                           | the client should       |
| ---- | -------------------------------------------------------------- | ----------------------- |
| 1000 | the client ended the connection                                | as it likes             |
| 1001 | the control plane is going down                                | come back               |
| 1002 | the client broke RFC 6455                                      | be fixed                |
| 1003 | a binary frame; the protocol is JSON text only                 | be fixed                |
| 1007 | text that is not UTF-8                                         | be fixed                |
| 1008 | the token was revoked, or has expired                          | log in, come back       |
| 1009 | a message over 1 MiB                                           | send less, come back    |
| 1011 | a fault of the control plane                                   | come back               |
| 1013 | what the client was sent cannot be written down                | come back later         |
| 4029 | more than 1000 messages in a minute                            | slow down, come back    |
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
    TRY_AGAIN_LATER = 1013
    RATE_LIMITED = 4029
