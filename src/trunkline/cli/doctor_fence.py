"""The doctor's part about the fence: what keeps sessions to their own place, on each machine."""

from trunkline.cli.check import Check
from trunkline.cli.output import Json, plain
from trunkline.cli.running_server import Running
from trunkline.control.settings import Settings

_FIX = "a newer kernel with Landlock, or a container profile that allows it: docs/guide/fence.md"
_ROOT_FIX = "run it as a user of its own: root may read much that no agent should"


def checks(settings: Settings, running: Running | str | None) -> list[Check]:
    """One per machine of a server that runs and says it; else what this host can."""
    if isinstance(running, Running):
        told = [one for one in running.vms if isinstance(one.get("fence"), dict)]
        if told:
            many = len(told) > 1
            return [_of_machine(one, is_named=many) for one in told]
    return [_of_host(settings)]


def _of_machine(machine: Json, *, is_named: bool) -> Check:
    where = f" on {plain(str(machine.get('name')))!r}" if is_named else ""
    fence = machine["fence"]
    return _check(f"Fence{where}", plain(str(fence.get("words"))), fence.get("in_force") is True)


def _of_host(settings: Settings) -> Check:
    import msgspec

    from trunkline.execution.fence import groups, probe, words

    found = msgspec.structs.replace(probe.look(), counts=groups.find() is not None)
    in_force = words.in_force(found, settings.fence)
    return _check("Fence", words.told_of_machine(found, settings.fence), in_force)


def _check(name: str, told: str, in_force: bool) -> Check:
    if not in_force:
        return Check(name, "missing", told, _FIX)
    return Check(name, "ok", told, _ROOT_FIX if "runs as root" in told else "")
