"""An outbox whose process is killed in the middle of its work."""

import asyncio
import json
import sys
from pathlib import Path

from trunkline.execution.ws.outbox import Outbox

WRITER = """
import sys, json
from pathlib import Path
from trunkline.execution.ws.events import Event
from trunkline.execution.ws.outbox import Outbox

outbox = Outbox(Path(sys.argv[1]))
outbox.line_up({})
number = 0
while True:
    number += 1
    outbox.append("s-1", Event(json.dumps({"type": "usage", "n": number})))
    outbox.append("s-2", Event(json.dumps({"type": "text_chunk", "content": f"{number},"})))
    outbox.reports.add("s-1", "usage_report", {"n": number})
    print(number, flush=True)
"""


async def test_everything_written_before_a_kill_is_still_owed_afterwards(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WRITER, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    async with asyncio.timeout(30):
        while int(await process.stdout.readline()) < 500:
            pass
        process.kill()
        told = (await process.stdout.read()).split()
        await process.wait()
    certain = int(told[-1]) if told else 500
    outbox = Outbox(tmp_path)
    outbox.line_up({})
    events = outbox.take(10**6, 10**9)
    first = [one for one in events if one.session_id == "s-1"]
    assert [one.seq for one in first] == list(range(1, len(first) + 1))
    assert [json.loads(one.data)["n"] for one in first] == [one.seq for one in first]
    assert len(first) >= certain
    text = "".join(json.loads(one.data)["content"] for one in events if one.session_id == "s-2")
    assert text.startswith("".join(f"{number}," for number in range(1, certain + 1)))
    reports = []
    while (report := outbox.reports.first) is not None:
        reports.append(report.params["n"])
        outbox.reports.done(report.report_id)
    assert reports[:certain] == list(range(1, certain + 1))
