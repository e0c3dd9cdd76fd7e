"""Found open: `open_myagent` lets clients on loopback in without a token, and with `public_url` a
proxy on this host made everyone a client on loopback."""

import pytest

from trunkline.control.errors import InvalidRequest
from trunkline.control.settings import load


def test_a_server_with_a_public_address_is_not_open_to_clients_without_a_token() -> None:
    public = {"TRUNKLINE_PUBLIC_URL": "https://agents.example"}
    opened = {"TRUNKLINE_OPEN_MYAGENT": "1"}
    assert load(env=public).public_url
    assert load(env=opened).open_myagent
    with pytest.raises(InvalidRequest, match="exclude each other") as refused:
        load(env=public | opened)
    assert refused.value.code == "INVALID_SETTINGS"
