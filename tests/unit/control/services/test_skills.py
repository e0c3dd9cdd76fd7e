"""Skills of an org: imported, listed for sessions, sent to machines, on both databases."""

import base64

import pytest
from sqlalchemy import func, select

from tests.support.clock import FakeClock
from tests.unit.control.services.conftest import World
from tests.unit.control.services.test_skill_package import zipped
from trunkline.control.errors import Conflict, Forbidden, InvalidRequest, NotFound, TooLarge
from trunkline.control.records.page import Paging
from trunkline.control.services import Services
from trunkline.control.services.skills import WIRE_BYTES_MAX
from trunkline.control.store import service_schema


def skill_zip(name: str = "pdf", description: str = "Reads PDFs", **more: bytes) -> bytes:
    head = f"---\nname: {name}\ndescription: {description}\n---\nDo it.\n".encode()
    return zipped(("SKILL.md", head), *more.items())


async def rows_of(world: World) -> tuple[int, int]:
    async with world.store.read() as connection:
        records = await connection.scalar(select(func.count()).select_from(service_schema.skills))
        files = await connection.scalar(
            select(func.count()).select_from(service_schema.skill_files)
        )
    return records or 0, files or 0


@pytest.mark.proves("000-4.3-get-skill-package")
async def test_an_imported_zip_comes_back_as_a_package(world: World, services: Services) -> None:
    data = zipped(
        ("pdf/SKILL.md", "---\nname: PDF 工具\ndescription: 读取 PDF\n---\n".encode()),
        ("pdf/scripts/main.py", b"print('hi')"),
        ("pdf/REFERENCE.md", b"# ref"),
        ("pdf/icon.png", b"\x89PNG\xff"),
    )
    skill = await services.skills.import_zip(world.org, data)
    answer = await services.skills.get_package(world.org, "pdf-工具")
    assert answer == {
        "package": {
            "skill_id": "pdf-工具",
            "version": skill.version,
            "files": [
                {"path": "REFERENCE.md", "content": "# ref", "encoding": "utf-8"},
                {
                    "path": "SKILL.md",
                    "content": "---\nname: PDF 工具\ndescription: 读取 PDF\n---\n",
                    "encoding": "utf-8",
                },
                {
                    "path": "icon.png",
                    "content": base64.b64encode(b"\x89PNG\xff").decode(),
                    "encoding": "base64",
                },
                {"path": "scripts/main.py", "content": "print('hi')", "encoding": "utf-8"},
            ],
            "file_inventory": {
                "has_skill_md": True,
                "has_scripts": True,
                "has_references": True,
                "script_files": ["scripts/main.py"],
                "reference_files": ["REFERENCE.md"],
            },
        }
    }


@pytest.mark.proves("004-4.7-frontmatter-suffices")
async def test_a_package_without_a_version_gets_the_time_of_its_import(
    world: World, services: Services, clock: FakeClock
) -> None:
    clock.now_ms = 1_700_000_000_123
    skill = await services.skills.import_zip(world.org, skill_zip())
    assert skill.version == "20231114221320123"


async def test_the_latest_version_is_the_last_imported_even_when_the_clock_stands(
    world: World, services: Services
) -> None:
    versions = []
    for number in range(5):
        skill = await services.skills.import_zip(world.org, skill_zip(description=f"d{number}"))
        versions.append(skill.version)
    assert len(set(versions)) == 5
    newest = await services.skills.get_package(world.org, "pdf", "latest")
    assert newest["package"]["version"] == versions[-1]
    first = await services.skills.get_package(world.org, "pdf", versions[0])
    assert first["package"]["version"] == versions[0]


async def test_the_same_version_twice_is_a_conflict(world: World, services: Services) -> None:
    data = zipped(("SKILL.md", b"---\nname: a\ndescription: b\nversion: '1'\n---\n"))
    await services.skills.import_zip(world.org, data)
    with pytest.raises(Conflict) as caught:
        await services.skills.import_zip(world.org, data)
    assert caught.value.code == "SKILL_EXISTS"
    assert await rows_of(world) == (1, 1)


@pytest.mark.parametrize(
    "data",
    [
        zipped(("readme.txt", b"x")),
        zipped(("a/SKILL.md", b"---\nname: a\ndescription: b\n---\n"), ("b/x", b"")),
        zipped(("SKILL.md", b"---\nname: a\ndescription: b\n---\n"), ("../x", b"")),
        b"not a zip",
    ],
)
async def test_nothing_of_a_refused_package_stays(
    world: World, services: Services, data: bytes
) -> None:
    with pytest.raises(InvalidRequest):
        await services.skills.import_zip(world.org, data)
    assert await rows_of(world) == (0, 0)


async def test_a_skill_md_in_other_spelling_is_stored_as_machines_look_for_it(
    world: World, services: Services
) -> None:
    await services.skills.import_zip(
        world.org, zipped(("skill.md", b"---\nname: a\ndescription: b\n---\n"))
    )
    answer = await services.skills.get_package(world.org, "a")
    assert [file["path"] for file in answer["package"]["files"]] == ["SKILL.md"]


@pytest.mark.parametrize(
    ("skill_id", "version"),
    [("nothing", None), ("pdf", "9.9"), ("../pdf", None), ("pdf", "'; --"), ("x" * 200, None)],
)
@pytest.mark.proves("000-5.4-skill-not-found")
async def test_an_unknown_skill_has_its_own_code(
    world: World, services: Services, skill_id: str, version: str | None
) -> None:
    await services.skills.import_zip(world.org, skill_zip())
    with pytest.raises(NotFound) as caught:
        await services.skills.get_package(world.org, skill_id, version)
    assert caught.value.code == "SKILL_NOT_FOUND"


async def test_another_orgs_skill_is_unknown(world: World, services: Services) -> None:
    skill = await services.skills.import_zip(world.org, skill_zip())
    with pytest.raises(NotFound):
        await services.skills.get_package(world.other_org, "pdf")
    with pytest.raises(NotFound):
        await services.skills.get(world.bob, skill.id)
    assert await services.skills.index_for(world.other_org) == []
    assert (await services.skills.page(world.bob, Paging())).items == []
    assert (await services.skills.page(world.root, Paging())).items == [skill]


async def test_a_package_that_fits_no_frame_is_a_clear_error(
    world: World, services: Services
) -> None:
    half = WIRE_BYTES_MAX // 2 + 1
    data = zipped(
        ("SKILL.md", b"---\nname: big\ndescription: b\n---\n"),
        ("a", bytes(half)),
        ("b", bytes(half)),
    )
    await services.skills.import_zip(world.org, data)
    with pytest.raises(TooLarge, match="a machine can be sent") as caught:
        await services.skills.get_package(world.org, "big")
    assert caught.value.code == "SKILL_TOO_LARGE"


async def test_text_full_of_escapes_is_sent_as_base64_so_that_it_fits(
    world: World, services: Services
) -> None:
    nasty = b"\x01" * 5000
    data = zipped(("SKILL.md", b"---\nname: a\ndescription: b\n---\n"), ("n.bin", nasty))
    await services.skills.import_zip(world.org, data)
    answer = await services.skills.get_package(world.org, "a")
    file = answer["package"]["files"][1]
    assert file["encoding"] == "base64"
    assert base64.b64decode(file["content"]) == nasty


@pytest.mark.proves("000-5.2-skill-index", "004-4.7-requires-of-the-package")
async def test_the_index_has_the_latest_of_each_skill_and_only_chosen_ones(
    world: World, services: Services
) -> None:
    await services.skills.import_zip(world.org, skill_zip(description="old"))
    latest = await services.skills.import_zip(world.org, skill_zip(description="new"))
    await services.skills.import_zip(
        world.org,
        zipped(
            (
                "SKILL.md",
                "---\nname: 数据分析\ndescription: d\nrequires: {bins: [python3]}\n---\n".encode(),
            )
        ),
    )
    index = await services.skills.index_for(world.org)
    assert index[0] == {
        "id": "pdf",
        "name": "pdf",
        "description": "new",
        "version": latest.version,
        "source": "upload",
        "file_inventory": {
            "has_skill_md": True,
            "has_scripts": False,
            "has_references": False,
            "script_files": [],
            "reference_files": [],
        },
        "requires": {"binaries": [], "env_vars": []},
    }
    assert index[1]["requires"] == {"binaries": ["python3"], "env_vars": []}
    chosen = await services.skills.index_for(world.org, ["数据分析", "unknown"])
    assert [entry["id"] for entry in chosen] == ["数据分析"]
    assert await services.skills.index_for(world.org, []) == []


async def test_a_list_comes_in_pages(world: World, services: Services) -> None:
    for number in range(5):
        await services.skills.import_zip(world.org, skill_zip(name=f"s{number}"))
    seen, cursor, pages = [], None, 0
    while True:
        page = await services.skills.page(world.ann, Paging(limit=2, cursor=cursor))
        seen += [skill.skill_id for skill in page.items]
        pages, cursor = pages + 1, page.next_cursor
        if cursor is None:
            break
    assert sorted(seen) == ["s0", "s1", "s2", "s3", "s4"]
    assert pages == 3


@pytest.mark.parametrize(("limit", "cursor"), [(0, None), (201, None), (5, ""), (5, "\x00")])
async def test_a_bad_page_is_refused(
    world: World, services: Services, limit: int, cursor: str | None
) -> None:
    with pytest.raises(InvalidRequest):
        await services.skills.page(world.ann, Paging(limit=limit, cursor=cursor))


async def test_a_skill_is_shown_with_its_files_and_deleted_by_an_admin(
    world: World, services: Services
) -> None:
    first = await services.skills.import_zip(world.org, skill_zip())
    second = await services.skills.import_zip(world.org, skill_zip())
    assert await services.skills.get(world.ann, "pdf") == second
    assert await services.skills.get(world.ann, first.id) == first
    assert await services.skills.files_of(first) == ["SKILL.md"]
    with pytest.raises(Forbidden):
        await services.skills.remove(world.ann, "pdf")
    await services.skills.remove(world.olga, second.id)
    assert await services.skills.get(world.ann, "pdf") == first
    await services.skills.import_zip(world.org, skill_zip())
    await services.skills.remove(world.olga, "pdf")
    assert await rows_of(world) == (0, 0)
