"""Where a request carries its person's secret (`control/door/credentials.py`)."""

import pytest
from multidict import CIMultiDict

from trunkline.control.access.auth import COOKIE
from trunkline.control.door.credentials import credentials_of


@pytest.mark.parametrize(
    ("headers", "secret"),
    [
        ({}, None),
        ({"Authorization": "Bearer tl_abc"}, "tl_abc"),
        ({"authorization": "bearer   tl_abc "}, "tl_abc"),
        ({"Authorization": "Bearer"}, None),
        ({"Authorization": "Bearer "}, None),
        ({"Authorization": ""}, None),
        ({"Authorization": "Basic dXNlcjpwYXNz"}, None),
        ({"Cookie": f"{COOKIE}=tl_abc"}, "tl_abc"),
        ({"Cookie": f'a=b; {COOKIE}="tl_abc"; c=d'}, "tl_abc"),
        ({"Cookie": f"x{COOKIE}=tl_abc"}, None),
        ({"Cookie": f"{COOKIE}="}, None),
        ({"Cookie": ";;=;"}, None),
        ({"Authorization": "Bearer tl_one", "Cookie": f"{COOKIE}=tl_two"}, "tl_one"),
    ],
)
def test_the_secret_is_found(headers: dict[str, str], secret: str | None) -> None:
    assert credentials_of(CIMultiDict(headers)) == secret


def test_another_kind_of_authorization_is_not_served_as_the_cookies_person() -> None:
    headers = CIMultiDict({"Authorization": "Basic dXNlcjpwYXNz", "Cookie": f"{COOKIE}=tl_abc"})
    assert credentials_of(headers) is None
