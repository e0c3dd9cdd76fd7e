"""Found open: tokens of AGP devices (`dev_`) and secrets of Yeaft agents (`ya_`) stood in logs and
messages in the clear."""

import pytest

from trunkline.control.ids import new_secret
from trunkline.control.redaction import redact


@pytest.mark.parametrize("prefix", ["tl", "tk", "dev", "ya"])
@pytest.mark.parametrize("text", ["{}", "agent {} refused", "'{}'", '{{"x": "{}"}}', "ws/{}/x"])
def test_no_secret_of_ours_is_shown_in_a_text(prefix: str, text: str) -> None:
    secret = new_secret(prefix)
    shown = redact(text.format(secret))
    assert secret[len(prefix) + 1 :] not in shown
    assert f"{prefix}_***" in shown


@pytest.mark.parametrize("text", ["dev_server", "dev_phone-1", "ya_hoo", "a dev_ice"])
def test_names_that_begin_like_one_are_shown(text: str) -> None:
    assert redact(text) == text
