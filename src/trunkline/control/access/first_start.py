"""What a control plane needs before anybody can use it: an org, a first user, an admin token."""

from sqlalchemy import insert, select

from trunkline.control.access.auth import Principal
from trunkline.control.access.keys import write_private
from trunkline.control.clock import Clock
from trunkline.control.ids import new_id, new_secret
from trunkline.control.settings import Settings
from trunkline.control.store import schema
from trunkline.control.store.engine import Store


def admin_token(settings: Settings) -> str:
    """The operator's own, or one that is made once and kept where only its user can read it."""
    if settings.admin_token is not None:
        return settings.admin_token
    path = settings.data_dir / "admin-token"
    if path.exists():
        return path.read_text(encoding="ascii").strip()
    token = new_secret("tl")
    write_private(path, token + "\n")
    return token


async def first_user(store: Store, clock: Clock) -> Principal:
    """The oldest admin; on a new database, one in a new org."""
    users = schema.users
    async with store.write() as connection:
        row = (
            await connection.execute(
                select(users.c.id, users.c.org_id)
                .where(users.c.role == "admin")
                .order_by(users.c.created_at, users.c.id)
                .limit(1)
            )
        ).first()
        if row is not None:
            return Principal(row.id, row.org_id, "admin")
        org_id, user_id, now = new_id(), new_id(), clock()
        await connection.execute(insert(schema.orgs).values(id=org_id, name="Home", created_at=now))
        await connection.execute(
            insert(users).values(
                id=user_id, org_id=org_id, name="admin", role="admin", created_at=now
            )
        )
        return Principal(user_id, org_id, "admin")
