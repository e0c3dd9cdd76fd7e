"""An organisation of its own for a test, so that its skills, servers and memories are its own."""

import io
import zipfile
from typing import Any

import aiohttp

from tests.support.control import Control, TestUser


async def admin_of_new_org(control: Control, name: str = "ada", **org: Any) -> TestUser:
    """The first user of a new organisation, who may do everything in it."""
    made = await control.ok("POST", "/orgs", {"name": f"org of {name}", **org})
    return await control.user(name, org_id=made["id"], role="org_admin")


async def import_skill(user: TestUser, files: dict[str, bytes]) -> dict[str, Any]:
    """Uploads these files as a skill package."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    url = f"{user.control.url}/api/v1/skills"
    headers = {"Authorization": f"Bearer {user.token}", "Content-Type": "application/zip"}
    async with (
        aiohttp.ClientSession(headers=headers) as http,
        http.post(url, data=io.BytesIO(packed.getvalue())) as answer,
    ):
        skill: dict[str, Any] = await answer.json()
        assert answer.status == 201, skill
        return skill
