"""The axes of the matrix: who asks, who works, and what is tried with each pair."""

from enum import StrEnum


class Client(StrEnum):
    REST = "rest"
    MYAGENT = "myagent"
    YEAFT_WEB = "yeaft-web"


class Machine(StrEnum):
    EXECUTION_PLANE = "execution-plane"
    YEAFT_DOCUMENTED = "yeaft-agent-documented"
    YEAFT_DEPLOYED = "yeaft-agent-deployed"
    AGP = "agp-device"


class Step(StrEnum):
    CREATE = "create"
    STREAM = "streamed-text"
    TOOL = "tool-call"
    THINKING = "thinking"
    QUESTION = "question"
    APPROVAL = "approval"
    CANCEL = "cancel"
    ERROR = "error"
    CLIENT_RECONNECT = "client-reconnect"
    MACHINE_RECONNECT = "machine-reconnect"
    HISTORY = "history"
