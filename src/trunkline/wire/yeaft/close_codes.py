"""Why an agent's line, or a web client's connection, is closed. Close codes are API: each says
when it happens and what to do.

docs/protocols/yeaft.md#close-codes

| code | when                                                           | the peer should         |
| ---- | -------------------------------------------------------------- | ----------------------- |
| 1000 | the peer ended the connection                                  | as it likes             |
| 1001 | the control plane is going down                                | come back               |
| 1002 | the peer broke RFC 6455                                        | be fixed                |
| 1003 | a binary frame; the protocol is JSON text only                 | be fixed                |
| 1007 | text that is not UTF-8                                         | be fixed                |
| 1008 | not let in, no longer let in, or replaced by a newer line      | not come back by itself |
| 1009 | a message over 10 MiB (64 KiB before an agent is registered)   | send less, come back    |
| 1011 | a fault of the control plane                                   | come back               |
| 4008 | an agent that was silent for 180 s                             | come back               |
| 4029 | too many messages in a minute, or connections of one user      | slow down, come back    |
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
    SILENT = 4008
    RATE_LIMITED = 4029
