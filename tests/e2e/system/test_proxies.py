"""The proxies of docs/operate/deployment.md, started as the page has them, but for names and ports.

Through each go a machine's WebSocket, a streamed answer and an upload, over real TLS.
"""

import asyncio
import contextlib
import datetime
import io
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.support import scripted_daemon
from tests.support.control import ControlProcess, free_port
from tests.support.eventually import WAIT_S, eventually

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
BIN = Path(sys.executable).parent
PAGE = (ROOT / "docs/operate/deployment.md").read_text(encoding="utf-8")
HOST = "agents.example.org"
ON_DISK = "/etc/letsencrypt/live/agents.example.org"
LARGE_BYTES = 3 * 1024 * 1024  # more than a proxy takes that was not told to


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found, f"the page has no {language} block"
    return found[1]


def certificate(folder: Path) -> Path:
    """For this host, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    today = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - datetime.timedelta(days=1))
        .not_valid_after(today + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / "privkey.pem").write_bytes(private)
    (folder / "fullchain.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return folder / "fullchain.pem"


def nginx(folder: Path, port: int, upstream: int) -> list[str]:
    text = block("nginx").replace("listen 80;", f"listen 127.0.0.1:{free_port()};")
    text = text.replace("listen 443 ssl http2;", f"listen 127.0.0.1:{port} ssl http2;")
    text = text.replace(ON_DISK, str(folder)).replace(HOST, "localhost")
    text = text.replace("127.0.0.1:8080", f"127.0.0.1:{upstream}")
    text = text.replace("access_log off;", _temporary(folder) + "access_log off;")
    (folder / "nginx.conf").write_text(f"daemon off;\nerror_log stderr;\n{text}")
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    return [program or "", "-p", str(folder), "-e", "stderr", "-c", "nginx.conf"]


def _temporary(folder: Path) -> str:
    """Where a program that is not root may write."""
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    return "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)


def caddy(folder: Path, port: int, upstream: int) -> list[str]:
    text = block("caddy").replace(f"{HOST} {{", f"https://localhost:{port} {{\n{_tls(folder)}")
    text = text.replace("127.0.0.1:8080", f"127.0.0.1:{upstream}")
    (folder / "Caddyfile").write_text("{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + text)
    program = shutil.which("caddy") or shutil.which("caddy", path=str(BIN))
    return [program or "", "run", "--config", str(folder / "Caddyfile")]


def _tls(folder: Path) -> str:
    return f"\ttls {folder}/fullchain.pem {folder}/privkey.pem\n"


@contextlib.asynccontextmanager
async def process(*command: str, env: dict[str, str], log: Path) -> AsyncIterator[None]:
    with log.open("wb") as output:
        started = await asyncio.create_subprocess_exec(
            *command, env=env, stdout=output, stderr=output, stdin=asyncio.subprocess.DEVNULL
        )
    try:
        yield
    finally:
        started.terminate()
        await asyncio.wait_for(started.wait(), WAIT_S)


@pytest.fixture(params=[nginx, caddy], ids=["nginx", "caddy"])
async def behind(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[tuple[ControlProcess, str, dict[str, str]]]:
    """The server behind a proxy, the address of that, and an environment that trusts it."""
    port = free_port()
    url = f"https://localhost:{port}"
    trusted = certificate(tmp_path)
    env = {"PATH": os.environ["PATH"], "SSL_CERT_FILE": str(trusted), "HOME": str(tmp_path)}
    settings = {"public_url": url, "trusted_proxies": "127.0.0.1"}
    async with ControlProcess(tmp_path / "data", **settings) as control:
        command = request.param(tmp_path, port, control.port)
        if not command[0]:
            pytest.skip(f"{request.param.__name__} is not installed here")
        async with process(*command, env=env, log=tmp_path / "proxy.log"):

            async def listens() -> bool:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    return False
                writer.close()
                return True

            await eventually(listens)
            yield control, url, env


async def test_a_machine_and_a_chat_and_an_upload_go_through(
    behind: tuple[ControlProcess, str, dict[str, str]], tmp_path: Path
) -> None:
    control, url, env = behind
    user = await control.user("ann")
    made = await user.schedule()
    assert made["ws_url"].startswith(url.replace("https", "wss"))
    machine = {"USER_ID": user.id, "VM_TOKEN": made["token"], "VM_TICKET": made["ticket"]}
    machine |= {"CONTROL_PLANE_WS": made["ws_url"], "PYTHONPATH": str(ROOT)}
    program = (sys.executable, scripted_daemon.__file__)
    async with process(*program, env=env | machine, log=tmp_path / "machine.log"):

        async def is_online() -> bool:
            return bool((await user.ok("GET", f"/machines/{made['vm_id']}"))["online"])

        await eventually(is_online)
        trusting = env | {"TRUNKLINE_URL": url, "TRUNKLINE_TOKEN": user.token}
        chat = await asyncio.create_subprocess_exec(
            BIN / "trunkline",
            *("chat", "Through the proxy", "--machine", made["vm_id"]),
            env=trusting,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        said, errors = await asyncio.wait_for(chat.communicate(), WAIT_S)
    assert (chat.returncode, said.decode().splitlines()[-1]) == (0, "Through the proxy"), errors

    form = aiohttp.FormData()
    form.add_field("files", io.BytesIO(bytes(LARGE_BYTES)), filename="large.bin")
    headers = {"Authorization": f"Bearer {user.token}"}
    async with aiohttp.ClientSession(headers=headers) as http:
        # Who signed the certificate is known here, and to nobody else.
        async with http.post(f"{url}/api/v1/uploads", data=form, ssl=False) as answer:
            assert answer.status == 201, await answer.text()
        async with http.get(f"{url}/", ssl=False) as answer:
            assert (answer.status, answer.content_type) == (200, "text/html")
