"""What a machine says to its user's clients outside of any session, in a protocol they share.

Machine edges publish, client edges listen; nothing is kept. What belongs to a session goes through
its log instead.
"""

from collections.abc import Callable

Listener = Callable[[str, str], None]
"""Gets the machine's id and the message as it came."""


class Relay:
    """The listeners of all users."""

    def __init__(self) -> None:
        self._listeners: dict[tuple[str, str], tuple[Listener, ...]] = {}
        self._watchers: dict[str, tuple[Listener, ...]] = {}

    def watch(self, protocol: str, watcher: Listener) -> None:
        """Hears what machines of all users say in that protocol, whether a client listens or
        not."""
        self._watchers[protocol] = (*self._watchers.get(protocol, ()), watcher)

    def listen(self, protocol: str, user_id: str, listener: Listener) -> None:
        key = protocol, user_id
        self._listeners[key] = (*self._listeners.get(key, ()), listener)

    def leave(self, protocol: str, user_id: str, listener: Listener) -> None:
        key = protocol, user_id
        left = tuple(one for one in self._listeners.get(key, ()) if one != listener)
        if left:
            self._listeners[key] = left
        else:
            self._listeners.pop(key, None)

    def publish(self, protocol: str, user_id: str, machine_id: str, text: str) -> int:
        """How many clients got it."""
        for watcher in self._watchers.get(protocol, ()):
            watcher(machine_id, text)
        listeners = self._listeners.get((protocol, user_id), ())
        for listener in listeners:
            listener(machine_id, text)
        return len(listeners)
