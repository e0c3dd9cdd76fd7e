"""Every error code that the source can send is documented."""

import re
from pathlib import Path

import trunkline
from trunkline.control.errors import NotFound, TrunklineError

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
_CODE = re.compile(r"""(?:code=|code = |complain\(\s*|"code": )"([A-Z][A-Z_]+)\"""")


def test_every_code_in_the_source_is_in_the_reference() -> None:
    source = Path(trunkline.__file__).parent / "control"
    codes = {code for file in source.rglob("*.py") for code in _CODE.findall(file.read_text())}
    assert len(codes) > 20
    assert sorted(code for code in codes if not _documented(code)) == []


def _documented(code: str) -> bool:
    return f"`{code}`" in DOCUMENT or f"`{code.removesuffix('NOT_FOUND')}`" in DOCUMENT


def test_every_class_has_its_documented_code_and_status() -> None:
    def family(kind: type[TrunklineError]) -> list[type[TrunklineError]]:
        return [kind, *(one for child in kind.__subclasses__() for one in family(child))]

    for kind in family(TrunklineError):
        if kind.__module__ == "trunkline.control.errors" and kind is not NotFound:
            assert re.search(rf"`{kind.code}`.*\| {kind.status} \|", DOCUMENT), kind


def test_a_missing_record_is_named_in_its_code() -> None:
    error = NotFound("mcp server", "github")
    assert (error.status, error.code) == (404, "MCP_SERVER_NOT_FOUND")
    assert "github" in error.message
