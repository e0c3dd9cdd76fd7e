"""Tried from inside of a fence: each way out, on its own. A program.

`python -m tests.support.escapes TARGETS.json` prints a JSON object: by name, `refused`, `not there`
or what was gained.
"""

import ctypes
import errno
import json
import os
import resource
import signal
import socket
import stat
import sys
from pathlib import Path

from tests.support import mount_escapes as mount_escapes
from tests.support.escaping import ESCAPES, TARGETS, at, call, escape, outcome, pid

HARMLESS = signal.SIGURG  # whoever gets it takes no notice


@escape
def read_another_sessions_file() -> object:
    return at("other_file").read_text()


@escape
def list_another_sessions_folder() -> object:
    return list(at("other_file").parent.iterdir())


@escape
def list_the_sessions() -> object:
    return list(at("other_file").parent.parent.iterdir())


@escape
def write_into_another_sessions_folder() -> object:
    return (at("other_file").parent / "planted").write_text("x")


@escape
def append_to_another_sessions_file() -> object:
    with at("other_file").open("a") as file:
        return file.write("x")


@escape
def remove_another_sessions_file() -> object:
    at("other_file").unlink()
    return "done"


@escape
def shorten_another_sessions_file() -> object:
    os.truncate(at("other_file"), 0)
    return "done"


@escape
def make_a_folder_among_the_sessions() -> object:
    (at("other_file").parent.parent / "s-9").mkdir()
    return "done"


@escape
def read_the_admin_token() -> object:
    return at("admin_token").read_text()


@escape
def list_the_control_planes_data() -> object:
    return list(at("admin_token").parent.iterdir())


@escape
def write_into_the_control_planes_data() -> object:
    return (at("admin_token").parent / "planted").write_text("x")


@escape
def follow_a_symlink_to_the_token() -> object:
    Path("token").symlink_to(at("admin_token"))
    return Path("token").read_text()


@escape
def follow_a_symlinked_folder() -> object:
    Path("data").symlink_to(at("admin_token").parent)
    return (Path("data") / "admin-token").read_text()


@escape
def hard_link_the_token() -> object:
    os.link(at("admin_token"), "linked")
    return Path("linked").read_text()


@escape
def rename_a_file_of_another_session_into_the_workspace() -> object:
    return at("other_file").rename("stolen")


@escape
def rename_a_file_out_into_the_data_folder() -> object:
    Path("mine").write_text("x")
    return Path("mine").rename(at("admin_token").parent / "mine")


@escape
def open_the_token_by_a_handle_without_rights() -> object:
    handle = os.open(at("admin_token"), os.O_PATH)
    return Path(f"/proc/self/fd/{handle}").read_text()


@escape
def climb_up_from_a_handle_of_the_workspace() -> object:
    handle = os.open(".", os.O_RDONLY)
    up = os.path.relpath(at("admin_token"))
    return os.read(os.open(up, os.O_RDONLY, dir_fd=handle), 100)


@escape
def read_what_the_session_itself_keeps() -> object:
    return at("own_file").read_text()


@escape
def change_how_the_session_is_started_again() -> object:
    return at("own_file").write_text("{}")


@escape
def hold_the_daemons_lock() -> object:
    return os.open(at("lock"), os.O_RDWR)


@escape
def read_the_outbox() -> object:
    return list(at("outbox").iterdir())


@escape
def read_keys_in_shared_memory() -> object:
    return at("shm_key").read_text()


@escape
def read_the_environment_of_another_process() -> object:
    return Path(f"/proc/{pid('victim')}/environ").read_bytes()


@escape
def read_the_environment_of_the_session() -> object:
    return Path(f"/proc/{pid('session')}/environ").read_bytes()


@escape
def read_the_memory_of_another_process() -> object:
    return os.open(f"/proc/{pid('victim')}/mem", os.O_RDONLY)


@escape
def read_the_memory_of_the_session() -> object:
    return os.open(f"/proc/{pid('session')}/mem", os.O_RDONLY)


@escape
def go_through_the_root_of_another_process() -> object:
    return Path(f"/proc/{pid('victim')}/root{at('admin_token')}").read_text()


@escape
def go_through_the_folder_of_another_process() -> object:
    return list(Path(f"/proc/{pid('victim')}/cwd").iterdir())


@escape
def take_an_open_file_of_another_process() -> object:
    return Path(f"/proc/{pid('victim')}/fd/0").read_bytes()


@escape
def trace_another_process() -> object:
    return call(101, 117, 0x4206, pid("victim"), 0, 0)


@escape
def trace_the_session() -> object:
    return call(101, 117, 0x4206, pid("session"), 0, 0)


@escape
def copy_the_memory_of_another_process() -> object:
    return call(310, 270, pid("victim"), 0, 0, 0, 0, 0)


@escape
def take_a_descriptor_by_pidfd() -> object:
    return call(438, 438, os.pidfd_open(pid("victim")), 0, 0)


@escape
def signal_another_process() -> object:
    os.kill(pid("victim"), HARMLESS)
    return "done"


@escape
def signal_the_session() -> object:
    os.kill(pid("session"), HARMLESS)
    return "done"


@escape
def signal_the_daemon_by_pidfd() -> object:
    signal.pidfd_send_signal(os.pidfd_open(pid("daemon")), HARMLESS)
    return "done"


@escape
def lower_the_limits_of_another_process() -> object:
    return resource.prlimit(pid("victim"), resource.RLIMIT_NOFILE, (1, 1))


@escape
def connect_to_a_socket_of_another_program() -> object:
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(TARGETS["socket"])
        return "done"


@escape
def connect_to_an_abstract_socket() -> object:
    with socket.socket(socket.AF_UNIX) as link:
        link.connect("\0" + TARGETS["abstract"])
        return "done"


@escape
def send_from_a_datagram_pair() -> object:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)


@escape
def speak_to_the_hypervisor() -> object:
    return socket.socket(40, socket.SOCK_STREAM)


@escape
def read_packets() -> object:
    return socket.socket(17, socket.SOCK_RAW)


@escape
def make_a_ring() -> object:
    return call(425, 425, 1, ctypes.create_string_buffer(120))


@escape
def read_the_kernels_keys() -> object:
    return call(250, 219, 0, -3, 0, 0, 0)


@escape
def add_a_key() -> object:
    return call(248, 217, b"user", b"trunkline", b"x", 1, -3)


@escape
def mount_something() -> object:
    return call(165, 40, b"none", str(Path.cwd()).encode(), b"tmpfs", 0, 0)


@escape
def make_a_user_namespace() -> object:
    return call(272, 97, 0x10000000)


@escape
def join_another_namespace() -> object:
    return call(308, 268, os.pidfd_open(pid("victim")), 0x00020000)


@escape
def change_the_root() -> object:
    return call(161, 51, b".")


@escape
def load_a_program_into_the_kernel() -> object:
    return call(321, 280, 0, 0, 0)


@escape
def make_a_device() -> object:
    os.mknod("disk", 0o600 | stat.S_IFBLK, os.makedev(254, 0))
    return os.open("disk", os.O_RDONLY)


@escape
def change_a_setting_of_the_kernel() -> object:
    return os.open("/proc/sys/kernel/hostname", os.O_WRONLY)


@escape
def leave_the_control_group() -> object:
    return os.open(at("group").parent / "cgroup.procs", os.O_WRONLY | os.O_CREAT)


@escape
def lift_the_bound_of_the_control_group() -> object:
    return os.open(at("group") / "pids.max", os.O_WRONLY | os.O_CREAT)


@escape
def write_into_the_system() -> object:
    return Path("/etc/trunkline-planted").write_text("x")


@escape
def write_into_our_program() -> object:
    return (Path(TARGETS["python"]) / "planted.pth").write_text("x")


@escape
def read_what_others_keep_in_the_common_temporary_folder() -> object:
    return at("common_file").read_text()


@escape
def change_what_others_keep_in_the_common_temporary_folder() -> object:
    return os.open(at("common_file"), os.O_WRONLY)


@escape
def read_the_users_ssh_keys() -> object:
    return (Path(TARGETS["home"]) / ".ssh" / "id").read_text()


@escape
def win_rights_by_a_setuid_program() -> object:
    status = Path("/proc/self/status").read_text()
    if "NoNewPrivs:\t1" in status:
        raise PermissionError(errno.EPERM, "no new rights")
    return "could"


if __name__ == "__main__":
    TARGETS.update(json.loads(Path(sys.argv[1]).read_text()))
    print(json.dumps({name: outcome(attempt) for name, attempt in ESCAPES.items()}))
