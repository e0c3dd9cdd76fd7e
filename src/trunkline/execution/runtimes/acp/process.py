"""The session's process of an ACP session: what the fork server calls."""

from trunkline.execution.runtimes.acp.program import AcpProgram
from trunkline.execution.runtimes.hosted import host


def main(socket_path: str) -> None:
    host.run(socket_path, AcpProgram)
