"""Where `sessions` and `groups` find pages and visibility, until they import `records.page`."""

from trunkline.control.records.page import fetch_page as fetch_page
from trunkline.control.records.page import visible as visible
