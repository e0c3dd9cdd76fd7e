"""Tried from inside of a fence: what mounts of a session's own close, and what nothing does."""

import ctypes
import os
from pathlib import Path

from tests.support.escaping import TARGETS, at, call, escape, libc, pid


@escape
def take_off_what_lies_over_the_data() -> object:
    return call(166, 39, bytes(at("admin_token").parent), 2)


@escape
def make_all_mounts_writable_again() -> object:
    read_only_off = (ctypes.c_uint64 * 4)(0, 1, 0, 0)
    return call(442, 442, -100, b"/", 0x8000, read_only_off, ctypes.c_size_t(32))


@escape
def change_the_mode_of_a_file() -> object:
    at("mode_file").chmod(0o640)
    return "done"


@escape
def change_the_mode_of_a_file_that_is_not_hidden() -> object:
    at("plain_file").chmod(0o640)
    return "done"


@escape
def change_the_times_of_a_file_that_is_not_hidden() -> object:
    os.utime(at("plain_file"), (0, 0))
    return "done"


@escape
def see_that_a_file_is_there() -> object:
    return at("admin_token").stat()


@escape
def attach_shared_memory_of_another_program() -> object:
    segment = libc.shmget(int(TARGETS["memory_key"]), 0, 0)
    libc.shmat.restype = ctypes.c_void_p
    if segment < 0 or libc.shmat(segment, None, 0o10000) == ctypes.c_void_p(-1).value:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return "done"


# What nothing keeps from a program of the same user: named in the guide.


@escape
def change_the_mode_of_what_the_session_itself_keeps() -> object:
    at("own_file").chmod(0o600)
    return "done"


@escape
def see_that_a_file_is_there_that_is_not_hidden() -> object:
    return at("plain_file").stat()


@escape
def see_the_command_line_of_another_process() -> object:
    return Path(f"/proc/{pid('victim')}/cmdline").read_bytes()
