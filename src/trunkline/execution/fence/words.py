"""What is in force on a machine, in words that people read before they say yes."""

from collections.abc import Sequence

from trunkline import names
from trunkline.execution.fence import profile
from trunkline.execution.fence.probe import Found
from trunkline.execution.fence.profile import Mode
from trunkline.execution.fence.seccomp import Network

NO_FENCE = "no fence"
NOT_COVERED = (
    "it can be seen that a file exists, with its size and times, where it is not hidden",
    "command lines of other processes can be seen",
    "the mode, owner and times of files that its own process may write can be changed",
)
"""What nothing here keeps from a session; the guide says it in these words."""
NOT_COVERED_WITHOUT_MOUNTS = (
    "the mode, owner and times of files of the same user can be changed, wherever they are",
    "of every file it can be seen that it exists, with its size and times",
    "System V shared memory of the same user can be reached",
)
"""Besides, where sessions have no mounts of their own."""
_NETWORK = {
    "open": "network: open",
    "off": "network: off for commands",
    "list": "network: list, through this machine's proxy",
}


def in_force(found: Found, mode: Mode) -> bool:
    """Whether sessions are kept to their own files: what runs free may do so inside of that."""
    return mode != "off" and found.files


def told(
    found: Found, mode: Mode, network: Network = "open", private: Sequence[str] | None = None
) -> str:
    """One line: `files: kernel; mounts: its own …`, or that there is no fence, and why. `private`:
    folders that a session has for itself, where that is known better."""
    if mode == "off":
        return f"{NO_FENCE}: it is switched off on this machine"
    if not found.files:
        return f"{NO_FENCE}: {found.why_not}"
    parts = [
        "files: kernel",
        _mounts(found, private),
        f"signals: {'kernel' if found.signals else 'no (old kernel)'}",
        f"sockets: {'blocked' if found.calls else 'no'}",
        _NETWORK[network],
        "memory: bounded" if found.counts_memory else "memory: bounded and watched",
        f"processes: {'bounded' if found.counts else 'watched'}",
    ]
    if found.is_root:
        parts.append("runs as root: what root may, commands may inside of the fence")
    return "; ".join(parts)


def _mounts(found: Found, private: Sequence[str] | None) -> str:
    if not found.mounts:
        return "mounts: no (this system allows none)"
    own = profile.private([]) if private is None else private
    return f"mounts: its own{', with ' if own else ''}{' and '.join(own)}"


def told_of_machine(
    found: Found,
    mode: Mode,
    network: Network = "open",
    private: Sequence[str] | None = None,
) -> str:
    """The same, with what holds for programs of other makers."""
    if not in_force(found, mode):
        return told(found, mode)
    hidden = "other sessions and the data folder are hidden" if found.masks else "nothing is hidden"
    return f"{told(found, mode, network, private)}; other programs: {hidden}"


def told_of_program(found: Found, mode: Mode) -> str:
    """The same for a program of another maker, which has its own idea of what it may do."""
    if not in_force(found, mode):
        return told(found, mode)
    hidden = "all but other sessions and the control plane's data" if found.masks else "all"
    parts = [
        f"files: {hidden}, as this program decides",
        f"signals: {'kernel' if found.signals else 'no (old kernel)'}",
        "sockets: open",
        "network: open",
        "memory: bounded",
        *(["processes: bounded"] if found.counts else []),
    ]
    return "; ".join(parts)


def hint(network: Network, private: Sequence[str] = ()) -> str:
    """For a command that was refused something, and for the model that reads it."""
    reach = {
        "open": "",
        "off": " There is no network for commands.",
        "list": " The network is reached through HTTPS_PROXY, and only hosts that are allowed.",
    }
    own = f" and {' and '.join(private)} of this session's own" if private else ""
    shared = [one for one in profile.PRIVATE if one not in private]
    return (
        "the fence around this session may have refused it: commands read the system, and read and"
        f" write the workspace, $TMPDIR{own};"
        f" {', '.join(['other files and processes', *shared])} and Unix sockets are out of reach."
        f"{reach[network]} Stay inside, or, if the work needs more, ask a person for it with"
        f" {names.ACCESS_TOOL}"
    )
