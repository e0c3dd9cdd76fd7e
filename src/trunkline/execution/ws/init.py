"""What `init` says, for the daemon: its keys opened, its gaps filled. Memory only, never logged."""

import structlog

from trunkline.wire.errors import Malformed
from trunkline.wire.semibot.keys import decrypt_key
from trunkline.wire.semibot.messages import InitData, Json

_log = structlog.get_logger(__name__)


def opened(data: InitData, token: str) -> Json:
    """A key that cannot be decrypted is left out: the other providers work without it."""
    keys = {}
    for provider, key in data.api_keys.items():
        try:
            keys[provider] = decrypt_key(key, token)
        except Malformed:
            _log.error("the key of a provider cannot be decrypted", provider=provider[:100])
    return {
        "user_id": data.user_id,
        "org_id": data.org_id,
        "api_keys": keys,
        "llm_config": data.llm_config or {},
        "capabilities": data.capabilities or [],
        "acked": data.acked or {},
    }
