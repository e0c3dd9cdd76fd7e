"""Which machines have a line now, for whoever knows no more of them than their ids."""


class Online:
    """Written by `Machines` only."""

    def __init__(self) -> None:
        self._ids: set[str] = set()

    def __contains__(self, machine_id: str | None) -> bool:
        return machine_id in self._ids

    @property
    def ids(self) -> list[str]:
        return sorted(self._ids)

    def note(self, machine_id: str, is_up: bool) -> None:
        if is_up:
            self._ids.add(machine_id)
        else:
            self._ids.discard(machine_id)
