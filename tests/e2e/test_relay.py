"""From a machine's frame to a reader's event, on real sockets (source document 000 §4.2, §7)."""

from pathlib import Path

import pytest

from tests.support.control import Control, running


@pytest.fixture
async def control(tmp_path: Path):
    async with running(tmp_path / "data") as started:
        yield started


async def test_an_event_reaches_a_reader_as_the_machine_wrote_it(control: Control) -> None:
    user = await control.user()
    vm = await user.vm()
    session = await user.session()
    async with user.reader(session) as reader:
        assert reader.status == 200
        await vm.text(session, "Hello")
        await reader.until_text("Hello")
    await vm.leave()
