"""Where this server is, as the one who asks sees it: for addresses that answers hold."""

from aiohttp import web

from trunkline.control.api.needs import Core


def base_url(core: Core, request: web.Request) -> str:
    """Without a slash at the end. The door has checked the `Host` that it may come from."""
    if core.settings.public_url:
        return core.settings.public_url
    host = request.headers.get("Host") or f"{core.settings.host}:{core.settings.port}"
    return f"{request.scheme}://{host}"
