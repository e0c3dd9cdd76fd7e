"""A JSON object as Python has it: what travels on every wire of the execution plane."""

from typing import Any

Json = dict[str, Any]
