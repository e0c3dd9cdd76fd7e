"""nchan: an nginx module in C, WebSocket publishers to SSE readers; it keeps nothing durable.

One worker on the servers' core, its own configuration in the run's folder, no access log. A
publisher connection is bound to one channel, so ten sessions get ten lines, which favours it.
"""

import os
import shutil
from pathlib import Path

from bench.budgets import REPLAY_EVENTS, REPLAY_PUBLISHED, SERVER_CORE, WINDOW_EVENTS
from bench.commands import Done, LineSpec, OpenLines, OpenStreams, Replay, StreamSpec
from bench.generator.client import GeneratorClient
from bench.processes import Server, free_port
from bench.sides.base import PLAIN_HEAD, PLAIN_TAIL

INSTALL_HINT = "apt-get install nginx-light libnginx-mod-nchan"
_MODULES = (
    Path("/usr/lib/nginx/modules/ngx_nchan_module.so"),
    Path("/usr/lib64/nginx/modules/ngx_nchan_module.so"),
    Path("/usr/local/lib/nginx/modules/ngx_nchan_module.so"),
)

# A publisher that is also a subscriber (of a channel where nothing is published) gets no status
# reply per message, which doubles what nchan relays. Few set it up that way, but it can be, so
# that is the nchan that the targets are held against; the usual publisher is measured as well.
_QUIET_PUBLISHER = """nchan_publisher websocket;
      nchan_subscriber websocket;
      nchan_publisher_channel_id {channel};
      nchan_subscriber_channel_id silent;"""
_USUAL_PUBLISHER = """nchan_publisher websocket;
      nchan_channel_id {channel};"""

# The live buffer is as long as the generator's window. Lengths of 0 and 10 were tried and are not
# clearly faster; nchan now and then loses events with each of them, for a reason not looked into,
# so losses are counted and shown. Pings, hooks, groups and Redis are off by default.
_CONFIG = """\
load_module {module};
{user}
daemon off;
worker_processes 1;
worker_cpu_affinity {affinity};
worker_rlimit_nofile {files};
pid {folder}/nginx.pid;
error_log {folder}/error.log error;
events {{
  worker_connections {connections};
  multi_accept on;
}}
http {{
  access_log off;
  tcp_nodelay on;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  nchan_shared_memory_size 512M;
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location = /ready {{ return 204; }}
    location ~ ^/live/pub/(\\w+)$ {{
      {live_publisher}
      nchan_message_buffer_length {window};
    }}
    location ~ ^/live/sub/(\\w+)$ {{
      nchan_subscriber eventsource;
      nchan_channel_id live$1;
      nchan_subscriber_first_message newest;
    }}
    location ~ ^/kept/pub/(\\w+)$ {{
      {kept_publisher}
      nchan_message_buffer_length {kept};
      nchan_message_timeout 5m;
    }}
    location ~ ^/kept/sub/(\\w+)$ {{
      nchan_subscriber eventsource;
      nchan_channel_id kept$1;
      nchan_subscriber_first_message oldest;
    }}
  }}
}}
"""


class Nchan:
    """The side; `available` says whether this machine has it."""

    def __init__(self, *, replies: bool = False) -> None:
        self.name = "nchan" if replies else "nchan, silenced"
        self._publisher = _USUAL_PUBLISHER if replies else _QUIET_PUBLISHER
        self.server: Server | None = None
        self._port = 0
        self._channels = 0

    @staticmethod
    def available() -> bool:
        return _nginx() is not None and _module() is not None

    def start(self, folder: Path) -> None:
        nginx, module = _nginx(), _module()
        assert nginx is not None
        assert module is not None
        self._port = free_port()
        files = os.sysconf("SC_OPEN_MAX")
        config = folder / "nginx.conf"
        config.write_text(
            _CONFIG.format(
                module=module,
                # As root, nginx would give its worker to a user who cannot enter this folder.
                user="user root;" if os.geteuid() == 0 else "",
                affinity=bin(1 << SERVER_CORE)[2:],
                files=files,
                connections=min(files, 16384),
                folder=folder,
                port=self._port,
                window=WINDOW_EVENTS,
                kept=REPLAY_EVENTS,
                live_publisher=self._publisher.format(channel="live$1"),
                kept_publisher=self._publisher.format(channel="kept$1"),
            )
        )
        command = [nginx, "-p", str(folder), "-c", str(config), "-e", str(folder / "error.log")]
        self.server = Server(command, folder, SERVER_CORE)
        self.server.wait_ready(f"http://127.0.0.1:{self._port}/ready")

    def open(self, generator: GeneratorClient, sessions: int, readers: int) -> None:
        names = [self._new_channel() for _ in range(sessions)]
        lines = [LineSpec(path=f"/live/pub/{name}") for name in names]
        generator.ask(OpenLines(self._port, lines), Done)
        streams = [
            StreamSpec(at, PLAIN_HEAD, PLAIN_TAIL, f"/live/sub/{name}")
            for at, name in enumerate(names)
        ]
        generator.ask(OpenStreams(self._port, streams, readers), Done)

    def open_crowd(self, generator: GeneratorClient, lines: int, readers: int) -> None:
        self.open(generator, lines, readers)

    def open_idle_lines(self, generator: GeneratorClient, count: int) -> None:
        lines = [LineSpec(path=f"/live/pub/{self._new_channel()}") for _ in range(count)]
        generator.ask(OpenLines(self._port, lines), Done)

    def open_idle_readers(self, generator: GeneratorClient, count: int) -> None:
        stream = StreamSpec(0, PLAIN_HEAD, PLAIN_TAIL, f"/live/sub/{self._new_channel()}")
        generator.ask(OpenStreams(self._port, [stream], count), Done)

    def replay(self, generator: GeneratorClient, times: int) -> Replay | None:
        name = self._new_channel()
        generator.ask(OpenLines(self._port, [LineSpec(path=f"/kept/pub/{name}")]), Done)
        path = f"/kept/sub/{name}"
        stream = StreamSpec(0, PLAIN_HEAD, PLAIN_TAIL, path)
        generator.ask(OpenStreams(self._port, [stream], 1), Done)
        return Replay(self._port, path, {}, REPLAY_PUBLISHED, REPLAY_EVENTS, times)

    def _new_channel(self) -> str:
        self._channels += 1
        return f"c{self._channels}"


def _nginx() -> str | None:
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


def _module() -> Path | None:
    return next((module for module in _MODULES if module.exists()), None)
