"""What one kind of machine can do and another cannot. A line states it; nobody asks for names."""

import msgspec


class Traits(msgspec.Struct, frozen=True, kw_only=True):
    starts: bool = True
    """A session has to be started there before it is spoken to."""
    one_turn: bool = False
    """It takes the next message of a session when it has ended the one before."""
    numbers: bool = False
    """It numbers its events, keeps them until they are acknowledged, and says on its return which
    turns it has."""
    names_ends: bool = False
    """Its terminal events name their turn."""
    rereads: bool = False
    """How far it got with a turn only its log knows: on its return it is told all of them again,
    the stopped ones too."""
    cancels_later: bool = False
    """A turn that is stopped while it is away ends at once; it is told when it returns."""
    comes_unasked: bool = False
    """Nobody starts it from here, so nothing else says that one that never came will not."""
    names_runtimes: bool = False
    """Its runtimes have names of its own: whatever a session asks for is passed on."""
    answers: bool = False
    """It answers a `Query`."""
    steers: bool = False
    """It takes a message to a turn that runs, and says when it has."""
    rules: bool = False
    """It holds to the rules of a session, and asks where they say so."""
    has_members: bool = False
    """Its sessions are conversations of others: nobody is given one unasked, and no copy of it."""
    is_introduced: bool = True
    """It is given the agent's prompt with the start of a session."""


KINDS = {
    "vm": Traits(),
    "agp": Traits(
        starts=False,
        one_turn=True,
        names_ends=True,
        cancels_later=True,
        comes_unasked=True,
        is_introduced=False,
    ),
    "yeaft": Traits(
        starts=False, one_turn=True, comes_unasked=True, names_runtimes=True, is_introduced=False
    ),
    "group": Traits(
        starts=False, names_ends=True, rereads=True, has_members=True, is_introduced=False
    ),
}
"""What holds of each kind of machine also while it has no line."""

SINGLE = tuple(kind for kind, traits in KINDS.items() if not traits.has_members)
