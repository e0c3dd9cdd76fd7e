"""Two organisations with people of every role, for tests about who may see what."""

from sqlalchemy import insert

from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.ids import new_id
from trunkline.control.store import schema
from trunkline.control.store.engine import Store


class People:
    """`ann` and `bob` are members, `orla` the admin of their org; `zoe` is in another org,
    `olaf` its admin; `ada` is the admin of everything and lives in ann's org."""

    ann: Principal
    bob: Principal
    orla: Principal
    zoe: Principal
    olaf: Principal
    ada: Principal

    @classmethod
    async def settle(cls, store: Store, clock: Clock) -> "People":
        people = cls()
        here, there = new_id(), new_id()
        places = {
            "ann": (here, "member"),
            "bob": (here, "member"),
            "orla": (here, "org_admin"),
            "zoe": (there, "member"),
            "olaf": (there, "org_admin"),
            "ada": (here, "admin"),
        }
        async with store.write() as connection:
            for org_id, name in ((here, "here"), (there, "there")):
                org = {"id": org_id, "name": name, "created_at": clock()}
                await connection.execute(insert(schema.orgs).values(**org))
            for name, (org_id, role) in places.items():
                user = {"id": new_id(), "org_id": org_id, "name": name, "role": role}
                await connection.execute(insert(schema.users).values(**user, created_at=clock()))
                setattr(people, name, Principal(user["id"], org_id, role))
        return people
