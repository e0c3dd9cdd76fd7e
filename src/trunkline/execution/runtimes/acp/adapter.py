"""ACP as the daemon sees it: a hosted runtime, in a process of its own for each session."""

from trunkline.execution.runtimes.hosted.adapter import HostedAdapter

TARGET = "trunkline.execution.runtimes.acp.process:main"


class AcpAdapter(HostedAdapter):
    """Its state: which session of which agent goes on, and where."""
