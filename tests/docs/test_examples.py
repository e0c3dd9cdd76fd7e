"""Every example of the manual, run as a reader would paste it: docs/contributing/manual.md."""

import ast
import json
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import jsonschema_rs
import msgspec
import pytest
import yaml

from tests.docs.blocks import OPTIONS, PARSED, RUN, SHOWN, Block, blocks, commands, pages
from tests.docs.matching import is_like
from tests.docs.reader import Reader
from tests.docs.server import Server, running
from tests.docs.shell import Shell
from tests.docs.stand_ins import standing_in
from trunkline import model_windows, prices
from trunkline.control import settings
from trunkline.control.api.http import ROUTES
from trunkline.control.api.openapi import describe

NOT_RUN_MAX = 12
"""How many blocks of a language that runs say that they are not: it falls, unless one is split."""

BLOCKS = {page: blocks(path.read_text(encoding="utf-8"), page) for page, path in pages().items()}
ALL = [block for found in BLOCKS.values() for block in found]


def _is_a_part(block: Block) -> bool:
    """Of a program: it cannot be run, and can be read."""
    return block.language == "python" and not block.is_run


_PARSERS: dict[str, Callable[[str], object]] = {
    "json": json.loads,
    "jsonl": lambda text: [json.loads(line) for line in text.splitlines()],
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
    "python": ast.parse,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with standing_in() as others, running(tmp_path_factory.mktemp("manual"), others) as one:
        yield one


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page, found in BLOCKS.items() if any(block.is_run for block in found)]
)
def test_the_examples_of_a_page_run_as_pasted(page: str, server: Server, tmp_path: Path) -> None:
    with ExitStack() as leaving:
        leaving.callback(server.sweep)
        shell = leaving.enter_context(
            closing(Shell(tmp_path, server.projects / Path(page).stem, server.env))
        )
        reader = Reader(server, shell, tmp_path, leaving)
        for block in BLOCKS[page]:
            if block.is_run:
                reader.does(block)


@pytest.mark.slow
def test_a_server_says_what_the_pages_say_when_it_is_up(server: Server) -> None:
    shown = [commands(block)[-1] for block in ALL if "server" in block.options]
    assert shown
    greeting = server.theirs(server.greeting)
    assert [one for one in shown if not is_like(greeting, f"…{one.printed}…")] == []


@pytest.mark.parametrize(
    "block",
    [block for block in ALL if block.language in PARSED or _is_a_part(block)],
    ids=lambda block: block.where,
)
def test_data_can_be_parsed_and_is_what_it_says(block: Block, tmp_path: Path) -> None:
    value = _PARSERS[block.language](block.text)
    if (kind := block.options.get("as")) is None:
        return
    file = tmp_path / "block"
    file.write_text(block.text, encoding="utf-8")
    if kind == "settings":
        settings.load({}, {}, file)
    elif kind == "prices":
        prices.read(file)
    elif kind == "model_windows":
        model_windows.read(file)
    else:
        assert list(_validator(kind).iter_errors(value)) == []


def _validator(route: str) -> jsonschema_rs.Validator:
    """Of the body that a route takes, by our own document."""
    document = msgspec.to_builtins(describe(ROUTES))
    method, path = route.split()
    takes = document["paths"][f"/api/v1{path}"][method.lower()]["requestBody"]["content"]
    schema = {**takes["application/json"]["schema"], "components": document["components"]}
    return jsonschema_rs.validator_for(schema)


def test_a_block_says_what_it_is() -> None:
    known = {*RUN, *PARSED, *SHOWN}
    assert [block.where for block in ALL if block.language not in known] == []
    assert [block.where for block in ALL if block.options.keys() - set(OPTIONS)] == []


def test_what_is_not_run_says_why_and_becomes_less() -> None:
    not_run = [block for block in ALL if "no-run" in block.options]
    assert [block.where for block in not_run if len(block.options["no-run"].split()) < 3] == []
    listed = "\n".join(f"{block.where}: {block.options['no-run']}" for block in not_run)
    assert len(not_run) <= NOT_RUN_MAX, listed
