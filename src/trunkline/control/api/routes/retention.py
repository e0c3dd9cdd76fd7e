"""Routes of what is kept: of an organisation's logs, and of a single one."""

from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.core import Core
from trunkline.control.retention.policy import Retention, SessionRetention

retention = Routes("retention")


@retention.get("/orgs/{org_id}/retention")
async def get_org_retention(core: Core, who: Principal, org_id: str) -> Retention:
    """Show how long and how much of its sessions' logs an organisation keeps."""
    await core.records.orgs.get(who, org_id)
    return await core.retention.of_org(org_id)


@retention.put("/orgs/{org_id}/retention", audit="org.retention_changed")
async def set_org_retention(core: Core, who: Principal, org_id: str, body: Retention) -> Retention:
    """Change how long and how much of its sessions' logs an organisation keeps.

    What is left out is kept without that bound. What is older or more is removed for good, within
    hours, with the records of its turns. Its own admins and admins may.
    """
    await core.records.orgs.get(who, org_id)
    who.require_org_admin()
    await core.retention.set_org(org_id, body)
    return body


@retention.get("/sessions/{session_id}/retention")
async def get_session_retention(core: Core, who: Principal, session_id: str) -> SessionRetention:
    """Show what is kept of a session's log."""
    session = await core.sessions.get(who, session_id)
    own, org = await core.retention.of_session(session.org_id, session_id)
    head = (await core.log.heads([session_id])).get(session_id)
    return SessionRetention(
        own=own,
        org=org,
        effective=own.within(org),
        first_event_id=1 if head is None else head.first_id,
        stored_bytes=0 if head is None else head.bytes,
    )


@retention.put("/sessions/{session_id}/retention", scope="talk", audit="session.retention_changed")
async def set_session_retention(
    core: Core, who: Principal, session_id: str, body: Retention
) -> SessionRetention:
    """Keep less of a session's log than its organisation does.

    What is left out is as the organisation has it. More than that is refused (`RETENTION_LIMIT`).
    """
    session = await core.sessions.get(who, session_id)
    await core.retention.set_session(session.org_id, session_id, body)
    return await get_session_retention(core, who, session_id)
