"""Why a VM's line is closed. Close codes are API: each says when it happens and what to do.

docs/protocols/semibot.md#close-codes

| code | when                                                           | the VM should           |
| ---- | -------------------------------------------------------------- | ----------------------- |
| 1000 | the VM, or its owner, ended the line                           | stop                    |
| 1001 | the control plane is going down                                | reconnect with back-off |
| 1002 | the VM broke RFC 6455                                          | be fixed                |
| 1003 | a binary frame; the protocol is JSON text only                 | be fixed                |
| 1007 | text that is not UTF-8                                         | be fixed                |
| 1008 | a newer line of the same VM took over                          | leave it to the newer   |
| 1009 | a message over 10 MiB                                          | send less, reconnect    |
| 4001 | ticket or token refused, or no `auth` within 10 s              | get a new token         |
| 4003 | that user has no active VM with this id                        | be scheduled again      |
| 4004 | no such user                                                   | stop                    |
| 4008 | 30 s without a frame                                           | reconnect               |
| 4029 | more than 1000 messages in a minute                            | slow down, reconnect    |
| 4500 | a fault of the control plane                                   | reconnect with back-off |
"""

from enum import IntEnum


class CloseCode(IntEnum):
    """4003 is not in the source document; deployed servers send it."""

    OK = 1000
    GOING_AWAY = 1001
    PROTOCOL_ERROR = 1002
    UNSUPPORTED_DATA = 1003
    INVALID_TEXT = 1007
    REPLACED = 1008
    MESSAGE_TOO_BIG = 1009
    AUTH_FAILED = 4001
    NO_ACTIVE_VM = 4003
    USER_NOT_FOUND = 4004
    TIMEOUT = 4008
    RATE_LIMITED = 4029
    INTERNAL_ERROR = 4500
