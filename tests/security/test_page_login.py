"""A login by name over HTTP is a door that can be knocked at: guessed at for ever, used to find out
who exists, or flooded. And what it lets in may reach for what is another's."""

import asyncio
import weakref
from pathlib import Path

import aiohttp
import pytest

from tests.support.clock import FakeClock
from tests.support.control import LocalControl, TestUser, running
from tests.support.eventually import until
from tests.support.peer import Json
from tests.support.yeaft_page import Page, PageHttp
from trunkline.control.services.uploads import BYTES_MAX, Upload
from trunkline.control.tuning import Tuning

PASSWORD = "correct horse battery"


async def named(control: LocalControl, name: str) -> TestUser:
    user = await control.user(name)
    await user.ok("PUT", f"/users/{user.id}/password", {"password": PASSWORD})
    return user


async def test_nobody_can_guess_a_password_for_ever_nor_all_at_once(tmp_path: Path) -> None:
    clock = FakeClock()
    async with running(tmp_path / "data", clock) as control:
        await named(control, "ada")
        async with PageHttp(control.url) as http:
            guesses = [{"username": "ada", "password": f"guess {one}"} for one in range(30)]
            tried = [http.post("/api/auth/login", one) for one in guesses]
            statuses = [status for status, _ in await asyncio.gather(*tried)]
            assert (statuses.count(401), statuses.count(429)) == (5, 25)
            right = {"username": "ada", "password": PASSWORD}
            assert (await http.post("/api/auth/login", right))[0] == 429
            clock.advance(2)
            assert (await http.login("ada", PASSWORD))["success"] is True


async def test_nobody_can_guess_on_by_logging_in_as_themselves_in_between(tmp_path: Path) -> None:
    async with running(tmp_path / "data", FakeClock()) as control:
        await named(control, "ada")
        await named(control, "eve")
        statuses = []
        async with PageHttp(control.url) as http:
            for password in ["guess"] * 4 + [PASSWORD] + ["guess"] * 2:
                name = "eve" if password == PASSWORD else "ada"
                given = {"username": name, "password": password}
                statuses.append((await http.post("/api/auth/login", given))[0])
        assert statuses == [401] * 4 + [200, 401, 429]


async def test_nobody_can_guess_on_from_their_other_addresses(tmp_path: Path) -> None:
    async with running(tmp_path / "data", FakeClock(), trusted_proxies="127.0.0.1") as control:
        await named(control, "ada")
        statuses = []
        async with aiohttp.ClientSession() as http:
            for number in range(6):
                async with http.post(
                    f"{control.url}/api/auth/login",
                    json={"username": "ada", "password": "guess"},
                    headers={"X-Forwarded-For": f"2001:db8::{number}"},
                ) as answer:
                    statuses.append(answer.status)
        assert statuses == [401] * 5 + [429], "all of one network are one caller"


async def test_nobody_can_tell_by_an_answer_who_exists(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        await named(control, "ada")
        await control.user("no-password")
        answers = []
        async with PageHttp(control.url) as http:
            for name in ("ada", "no-password", "nobody", "admin"):
                wrong = {"username": name, "password": "wrong password"}
                answers.append(await http.post("/api/auth/login", wrong))
        assert [status for status, _ in answers] == [401] * 4
        assert len({answer["error"] for _, answer in answers}) == 1


async def test_nobody_can_log_in_as_another_with_their_own_token(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        eve, ada = await control.user("eve"), await named(control, "ada")
        async with PageHttp(control.url) as http:
            assert (await http.login("ada", eve.token))["success"] is False
            assert (await http.login(ada.id, eve.token))["success"] is False


@pytest.mark.parametrize("password", [PASSWORD, PASSWORD + "!"])
async def test_a_password_is_in_no_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], password: str
) -> None:
    async with running(tmp_path / "data") as control:
        await named(control, "ada")
        async with PageHttp(control.url) as http:
            await http.login("ada", password)
        audit = str(await control.ok("GET", "/audit"))
    assert PASSWORD not in audit
    printed = capsys.readouterr()
    assert PASSWORD not in printed.out + printed.err


async def test_nobody_can_use_files_or_rows_of_another(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        ada, eve = await control.user("ada"), await control.user("eve")
        async with await ada.vm(), await eve.vm(), PageHttp(control.url) as http:
            http.token = ada.token
            (file_id,) = (await http.upload(("a.txt", "text/plain", b"mine")))[1]["fileIds"]
            hers, own = await ada.session(), await eve.session()
            async with Page(control.url, eve.token) as page:
                await page.send("chat", prompt="x", conversationId=own, fileIds=[file_id])
                assert (await page.expect("error"))["code"] == "FILE_NOT_FOUND"
                for kind in ("pin_session", "unpin_session", "update_file_tabs"):
                    fields: Json = {"conversationId": hers, "openFiles": []}
                    refused = await page.ask(kind, "error", **fields)
                    assert refused["code"] == "SESSION_NOT_FOUND"
                row = {"catalogKey": f"chat:{hers}", "routeRef": {}}
                changed = await page.ask(
                    "set_session_ui_metadata", "session_ui_metadata_updated", **row, hidden=True
                )
                moved = await page.ask(
                    "reorder_session_catalog", "session_catalog_reorder_result", sessions=[row]
                )
                assert (changed["ok"], moved["ok"]) == (False, False)
            assert await control.core.shown.of([hers]) == {}


async def test_uploads_cannot_fill_the_memory(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        ada = await control.user("ada")
        async with PageHttp(control.url) as http:
            http.token = ada.token
            large = ("a.bin", "x/y", b"x" * (BYTES_MAX + 1))
            status, answer = await http.upload(large)
            assert (status, answer["success"]) == (413, False)
            many = [(f"{one}.txt", "text/plain", b"x") for one in range(21)]
            assert (await http.upload(*many))[0] == 413
            half = ("b.bin", "x/y", b"x" * (BYTES_MAX - 1))
            statuses = [(await http.upload(half))[0] for _ in range(5)]
            assert statuses == [200] * 4 + [429]


class Watched(Upload, frozen=True, weakref=True):
    """A file of which a test sees whether it is still in memory."""


async def test_uploads_do_not_stay_in_memory_until_the_next_one(tmp_path: Path) -> None:
    clock = FakeClock()
    async with running(tmp_path / "data", clock, Tuning(sweep_s=0.005)) as control:
        file = Watched("a.bin", "x/y", b"x")
        kept = weakref.ref(file)
        control.core.uploads.add("ada", [file])
        del file
        assert kept() is not None
        clock.advance(601)
        await until(lambda: kept() is None)


async def test_a_token_that_ends_cannot_leave_a_password_behind(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        ada = await named(control, "ada")
        short = await ada.ok("POST", f"/users/{ada.id}/token", {"expires_in_s": 60})
        async with PageHttp(control.url) as http:
            page = (await http.login("ada", PASSWORD))["token"]
        for token in (short["token"], page):
            place, body = f"/users/{ada.id}/password", {"password": PASSWORD + "!"}
            status, _ = await control.call("PUT", place, body, token=token)
            assert status == 403
        async with PageHttp(control.url) as http:
            assert (await http.login("ada", PASSWORD))["success"] is True
