"""The metrics of source document 000 §10, under its names, with its types and labels."""

import shutil
from pathlib import Path

import aiohttp
import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from tests.support.control import Control, running
from tests.support.eventually import eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Scrape:
    """One answer of `/metrics`, read by Prometheus' own parser."""

    def __init__(self, text: str) -> None:
        self.families: dict[str, Metric] = {
            family.name: family for family in text_string_to_metric_families(text)
        }

    def value(self, sample: str, **labels: str) -> float | None:
        for family in self.families.values():
            for one in family.samples:
                if one.name == sample and one.labels == labels:
                    return one.value
        return None


async def _scrape(control: Control) -> Scrape:
    async with aiohttp.ClientSession() as http, http.get(control.url + "/metrics") as answer:
        assert answer.status == 200
        return Scrape(await answer.text())


@pytest.mark.proves(
    "000-10-ws-connections-active",
    "000-10-ws-sessions-per-connection",
    "000-10-ws-messages-sent-total",
    "000-10-ws-messages-received-total",
    "000-10-ws-reconnections-total",
    "000-10-ws-request-duration-seconds",
    "000-10-sse-buffer-size",
    "000-10-sse-events-forwarded-total",
)
async def test_the_documents_metrics_have_its_names_types_and_labels(own_control: Control) -> None:
    user = await own_control.user()
    async with await user.vm() as vm:
        one, other = await user.session(), await user.session()
        await vm.heartbeat(one, other)
        await vm.text(one, "a", "b", "c")
        await vm.request(one, "get_session")
        async with user.reader(one) as reader:
            await reader.until_text("c")
        seen = await _scrape(own_control)
    assert {
        name: seen.families[name].type
        for name in (
            "ws_connections_active",
            "ws_sessions_per_connection",
            "ws_messages_sent",
            "ws_messages_received",
            "ws_reconnections",
            "ws_request_duration_seconds",
            "sse_buffer_size",
            "sse_events_forwarded",
        )
    } == {
        "ws_connections_active": "gauge",
        "ws_sessions_per_connection": "gauge",
        "ws_messages_sent": "counter",
        "ws_messages_received": "counter",
        "ws_reconnections": "counter",
        "ws_request_duration_seconds": "histogram",
        "sse_buffer_size": "gauge",
        "sse_events_forwarded": "counter",
    }
    assert seen.value("ws_connections_active") == 1
    assert seen.value("ws_sessions_per_connection", user_id=user.id) == 2
    assert seen.value("ws_messages_sent_total", type="init") == 1
    assert seen.value("ws_messages_sent_total", type="start_session") == 2
    assert seen.value("ws_messages_sent_total", type="response") == 1
    assert seen.value("ws_messages_received_total", type="auth") == 1
    assert seen.value("ws_messages_received_total", type="heartbeat") == 1
    assert seen.value("ws_messages_received_total", type="sse_event") == 3
    assert seen.value("ws_messages_received_total", type="request") == 1
    assert seen.value("ws_reconnections_total") == 0
    assert seen.value("ws_request_duration_seconds_count", method="get_session") == 1
    assert seen.value("sse_buffer_size", session_id=one) == 3
    assert seen.value("sse_buffer_size", session_id=other) == 0
    assert seen.value("sse_events_forwarded_total") == 3


@pytest.mark.proves("000-10-ws-reconnections-total")
async def test_a_line_that_comes_back_is_a_reconnection_and_a_first_one_is_none(
    own_control: Control,
) -> None:
    user = await own_control.user()
    vm = await user.vm()
    await vm.drop()
    again = user.again(vm)
    await again.connect()
    await again.authenticate()
    seen = await eventually(
        lambda: _scrape(own_control), lambda one: one.value("ws_reconnections_total") == 1
    )
    assert seen.value("ws_connections_active") == 1
    await again.leave()


async def test_a_label_per_user_or_session_goes_with_its_line(own_control: Control) -> None:
    user = await own_control.user()
    vm = await user.vm()
    session = await user.session()
    assert (await _scrape(own_control)).value("sse_buffer_size", session_id=session) == 0
    await vm.leave()
    gone = await eventually(
        lambda: _scrape(own_control), lambda one: one.value("ws_connections_active") == 0
    )
    assert gone.value("sse_buffer_size", session_id=session) is None
    assert gone.value("ws_sessions_per_connection", user_id=user.id) is None


async def test_labels_stay_within_what_is_known_whatever_machines_send(
    own_control: Control,
) -> None:
    user = await own_control.user()
    async with await user.vm() as vm:
        session = await user.session()
        for number in range(5):
            await vm.send({"type": f"made_up_{number}"})
            await vm.request(session, f"made_up_{number}")
        seen = await _scrape(own_control)
    assert seen.value("ws_messages_received_total", type="unknown") == 5
    methods = {one.labels["method"] for one in seen.families["ws_request_duration_seconds"].samples}
    assert methods == {"unknown"}


@pytest.mark.parametrize(("low_bytes", "is_low"), [(2**60, 1), (0, 0)])
async def test_room_on_the_disk_is_told_and_whether_it_is_low(
    tmp_path: Path, low_bytes: int, is_low: int
) -> None:
    async with running(tmp_path / "data", low_disk_bytes=low_bytes) as control:
        seen = await _scrape(control)
    assert seen.value("disk_low") == is_low
    total = shutil.disk_usage(tmp_path).total
    assert seen.value("disk_total_bytes") == total
    assert 0 < (seen.value("disk_free_bytes") or 0) < total
    assert (seen.value("database_bytes") or 0) > 0
