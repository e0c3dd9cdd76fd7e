"""Why a server was not reached, in words that say what to look at next.

For the first request of a machine that joins and for every attempt to open its line. Without the
address's query: it may have a ticket in it.
"""

import errno
import socket

import aiohttp
from yarl import URL

from trunkline.log_form import one_line

_REASON_CHARS_MAX = 200
_NO_WAY = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN)


def why_unreached(error: BaseException, url: URL) -> str:
    """Of an attempt that has got no answer."""
    place = f"{url.host}:{url.port}"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        reason = getattr(error.certificate_error, "verify_message", "") or error.certificate_error
        return (
            f"the certificate of {place} is not trusted here ({_short(reason)}): check the name in"
            " the address, or name the authority's certificate in SSL_CERT_FILE"
        )
    if isinstance(error, aiohttp.ClientSSLError):
        plain = "http" if url.scheme in ("https", "http") else "ws"
        return (
            f"{place} does not speak TLS ({_short(error.os_error)}): is the address {plain}:// and"
            f" not {url.scheme}://?"
        )
    if isinstance(error, aiohttp.ClientConnectorError):
        return _of_system(error.os_error, url, place)
    if isinstance(error, aiohttp.ServerDisconnectedError | ConnectionResetError):
        return _closed(url, place)
    if isinstance(error, OSError):  # also TimeoutError
        return _of_system(error, url, place)
    return _short(error) or type(error).__name__


def why_refused(status: int, url: URL, said: str = "") -> str:
    """Of an answer that is no success. `said`: the server's own words, if there are any."""
    if said:
        return _short(said)
    return f"HTTP {status}: {_of_status(status, url)}"


def _of_status(status: int, url: URL) -> str:
    if status in (301, 302, 303, 307, 308):
        return "the address leads elsewhere: use the one that it leads to"
    if status == 401:
        return "the server refuses what this machine shows"
    if status == 403:
        return (
            f"the server refuses this machine, or does not answer to the name {url.host}: its"
            " setting public_url names the address that machines use"
        )
    if status in (502, 503, 504):
        return "the proxy does not reach the server: is it running?"
    return f"what answers at {url.host}:{url.port} is no such server: is the address right?"


def _of_system(error: OSError, url: URL, place: str) -> str:
    if isinstance(error, socket.gaierror):
        return (
            f"the name {url.host} is not known here (DNS): check it, or use the server's IP address"
        )
    if error.errno == errno.ECONNREFUSED:
        return f"nothing listens at {place} (connection refused){_if_local(url)}"
    if error.errno in _NO_WAY:
        return f"there is no way to {place}: is this machine on the server's network?"
    if isinstance(error, TimeoutError) or error.errno == errno.ETIMEDOUT:
        return f"{place} does not answer: is a firewall between, or is the address another one?"
    return _short(error) or type(error).__name__


def _closed(url: URL, place: str) -> str:
    other = {"http": "https", "https": "http", "ws": "wss", "wss": "ws"}.get(url.scheme, "")
    return f"{place} closed the connection without an answer: is the address {other}:// instead?"


def _if_local(url: URL) -> str:
    if url.host in ("127.0.0.1", "::1", "localhost"):
        return (
            ": this address means this very machine. If the server is another one, open a tunnel"
            f" to it (ssh -N -L {url.port}:127.0.0.1:{url.port} USER@SERVER), or use an address"
            " that others reach"
        )
    return (
        ": is the server running, and for others too? One that was started without --host is"
        " reached by its own computer alone"
    )


def _short(text: object) -> str:
    """What others wrote, as a terminal may show it."""
    return one_line(" ".join(str(text).split())[:_REASON_CHARS_MAX])
