"""Every address of the page, with records behind those that name one."""

from tests.support.node import World
from tests.support.orgs import import_skill

ADDRESSES = (
    *("/welcome", "/chat", "/chat/{session}", "/debug/{session}", "/inbox", "/rules", "/groups"),
    *("/groups/{group}", "/machines", "/machines/{machine}", "/models", "/agents"),
    *("/agents/{agent}", "/skills", "/skills/{skill}", "/memories", "/mcp", "/usage", "/audit"),
    *("/users", "/tokens", "/org", "/health", "/settings"),
)
_SKILL = b"---\nname: tidy\ndescription: Tidies up.\n---\n\nTidy up.\n"


async def furnish(world: World) -> dict[str, str]:
    """The ids of one record of each kind."""
    user = world.user
    person = await user.ok("POST", "/persons", {"name": "alice", "prompt": "You review code."})
    group = await user.ok("POST", "/groups", {"name": "team", "person_ids": [person["id"]]})
    agent = await user.ok("POST", "/agents", {"name": "reviewer"})
    skill = await import_skill(user, {"tidy/SKILL.md": _SKILL})
    session = await world.session(title="A first session")
    return {
        "session": session.id,
        "machine": world.node.machine_id,
        "group": group["id"],
        "agent": agent["id"],
        "skill": skill["id"],
    }
