"""What a session may do, as the daemon decides it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from trunkline.execution.errors import StartFailed
from trunkline.execution.fence import words
from trunkline.execution.fence.hosts import covers, is_host
from trunkline.execution.fence.machine import Fence
from trunkline.execution.fence.probe import Found, look
from trunkline.execution.fence.profile import Mode, Profile, git_folders, without
from trunkline.execution.fence.seccomp import command_filter, session_filter
from trunkline.execution.fence.watch import Watch
from trunkline.execution.home import Home
from trunkline.execution.session import ipc

ALL = Found(landlock_abi=6, files=True, calls=True, connects=True)
NONE = Found(why_not="an old kernel")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.make()
    return made


def start(home: Home, **config: Any) -> ipc.Start:
    runtime = config.pop("runtime_type", ipc.DEFAULT_RUNTIME)
    workspace = config.pop("workspace", "")
    return ipc.Start(
        session_id="s-1",
        home=str(home.root),
        workspace=workspace,
        runtime_type=runtime,
        session_config=config,
    )


def fence(home: Home, mode: Mode = "auto", found: Found = ALL, **more: Any) -> Fence:
    return Fence(home, mode, found, env={"HOME": str(home.root.parent / "user")}, **more)


def made(profile: Profile | None) -> Profile:
    assert profile is not None
    return profile


def test_a_session_writes_its_workspace_and_nothing_of_the_machine(home: Home) -> None:
    profile = made(fence(home).profile(start(home)))
    assert profile.write == [str(home.workspace), str(home.cache)]
    assert profile.own == [str(home.session("s-1")), str(home.locks)]
    assert profile.temp == str(home.session("s-1") / "tmp")
    inside = [path for path in profile.read if path.startswith(str(home.root))]
    assert inside == [str(home.skills), str(home.programs)]


@pytest.mark.parametrize(("mode", "found"), [("off", ALL), ("auto", NONE)])
def test_where_there_is_no_fence_nothing_is_confined_and_it_says_so(
    home: Home, mode: Mode, found: Found
) -> None:
    without_one = fence(home, mode, found)
    assert without_one.profile(start(home)) is None
    assert not without_one.in_force
    assert without_one.told()["words"].startswith("no fence: ")


def test_where_a_fence_is_required_and_there_is_none_no_session_starts(home: Home) -> None:
    with pytest.raises(StartFailed, match="no fence: an old kernel") as refused:
        fence(home, "require", NONE).profile(start(home))
    assert refused.value.code == "FENCE_REQUIRED"


@pytest.mark.parametrize(
    ("found", "runtime", "network"),
    [
        (NONE, "semigraph", "off"),
        (NONE, "semigraph", "list"),
        (msgspec.structs.replace(ALL, connects=False), "semigraph", "list"),
        (ALL, "claude-code", "off"),
    ],
)
def test_a_network_that_cannot_be_closed_is_not_called_closed(
    home: Home, found: Found, runtime: str, network: str
) -> None:
    with pytest.raises(StartFailed, match="inside of a fence"):
        fence(home, found=found).profile(start(home, runtime_type=runtime, network=network))


@pytest.mark.parametrize(
    ("machine", "session", "expected"),
    [
        (("open", []), {}, ("open", [])),
        (("open", []), {"network": "off"}, ("off", [])),
        (("off", []), {"network": "open"}, ("off", [])),
        (("open", []), {"network": "list", "network_hosts": ["A.org."]}, ("list", ["a.org"])),
        (("list", ["a.org"]), {"network": "open"}, ("list", ["a.org"])),
        (("list", ["*.a.org"]), {"network": "list", "network_hosts": ["x.a.org", "b.org"]}, None),
        (("list", ["a.org"]), {"network": "list"}, ("list", ["a.org"])),
    ],
)
def test_a_session_has_no_more_network_than_its_machine(
    home: Home, machine: Any, session: Any, expected: Any
) -> None:
    profile = made(
        fence(home, network=machine[0], hosts=machine[1]).profile(start(home, **session))
    )
    assert (profile.network, profile.hosts) == (expected or ("list", ["x.a.org"]))


@pytest.mark.parametrize(
    "config",
    [
        {"network": "wide"},
        {"network": ["off"]},
        {"network": "list", "network_hosts": "a.org"},
        {"network": "list", "network_hosts": [1]},
        {"network": "list", "network_hosts": ["a b"]},
        {"network": "list", "network_hosts": ["http://a.org/"]},
        {"network": "list", "network_hosts": ["a.org"] * 201},
        {"network": "list", "network_hosts": ["a" * 300]},
    ],
)
def test_nonsense_about_the_network_starts_nothing(home: Home, config: Any) -> None:
    with pytest.raises(StartFailed) as refused:
        fence(home).profile(start(home, **config))
    assert refused.value.code == "INVALID_SETTINGS"


def test_a_folder_is_allowed_around_what_is_hidden_in_it(tmp_path: Path) -> None:
    for name in ("a/b/secret", "a/b/plain", "a/c", "d"):
        (tmp_path / name).mkdir(parents=True)
    found = set(without(tmp_path, [tmp_path / "a" / "b" / "secret"]))
    assert found == {tmp_path / "a" / "b" / "plain", tmp_path / "a" / "c", tmp_path / "d"}
    assert list(without(tmp_path, [tmp_path / "not-there"])) == [tmp_path]
    assert list(without(tmp_path / "a" / "b" / "secret", [tmp_path / "a"])) == []


def test_who_works_at_home_sees_no_ssh_keys_and_no_data_of_the_control_plane(home: Home) -> None:
    user = home.root.parent / "user"
    for name in (".ssh", ".local/share/trunkline", "code"):
        (user / name).mkdir(parents=True)
    data = home.root.parent / "user" / "data"
    data.mkdir()
    profile = made(fence(home, hidden=[data]).profile(start(home, workspace=str(user))))
    assert profile.write == [str(user / "code"), str(home.cache)]


def test_what_a_users_programs_keep_beside_their_programs_is_not_read(home: Home) -> None:
    user = home.root.parent / "user"
    for name in (".local/bin", ".local/share/mail", "tool/bin", "tool/lib"):
        (user / name).mkdir(parents=True)
    path = f"{user}/.local/bin:{user}/tool/bin"
    made_so = Fence(home, "auto", ALL, env={"HOME": str(user), "PATH": path})
    read = made(made_so.profile(start(home))).read
    assert {str(user / ".local" / "bin"), str(user / "tool")} <= set(read)
    assert str(user / ".local") not in read


def test_a_session_cannot_work_in_the_data_folder(home: Home, tmp_path: Path) -> None:
    inside = tmp_path / "data" / "keys"
    inside.mkdir(parents=True)
    with pytest.raises(StartFailed) as refused:
        fence(home, hidden=[tmp_path / "data"]).profile(start(home, workspace=str(inside)))
    assert refused.value.code == "WORKSPACE_REFUSED"


def test_a_home_below_the_data_folder_works_all_the_same(tmp_path: Path) -> None:
    home = Home(tmp_path / "data" / "vms" / "m-1")
    home.root.parent.mkdir(parents=True)
    home.make()
    profile = made(fence(home, hidden=[tmp_path / "data"]).profile(start(home)))
    assert profile.write[0] == str(home.workspace)


def test_a_worktree_writes_its_repositorys_objects_but_not_its_hooks(tmp_path: Path) -> None:
    repository, tree = tmp_path / "repository", tmp_path / "tree"
    git = ["git", "-C", str(repository), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(tree)], check=True)
    common = repository / ".git"
    found = git_folders(tree, [tmp_path])
    assert found.read == [str(common)]
    assert str(common) not in found.write
    assert str(common / "objects") in found.write
    assert str(common / "worktrees" / "tree") in found.write
    assert not any("hooks" in path or path.endswith("config") for path in found.write)
    assert git_folders(tree, [tmp_path / "elsewhere"]).read == []
    (repository / "src").mkdir()
    assert git_folders(repository / "src", [tmp_path]).write == [str(common)]


@pytest.mark.parametrize(
    "text", ["gitdir: /", "gitdir: /etc", "gitdir: ../data", "nonsense", "", "\xff" * 9000]
)
def test_a_git_file_written_by_hand_opens_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "data" / "objects").mkdir(parents=True)
    (tmp_path / "data" / "HEAD").touch()
    (tmp_path / "data" / "commondir").write_text(".")
    (tmp_path / "work" / ".git").write_text(text)
    found = git_folders(tmp_path / "work", [tmp_path])
    assert (found.read, found.write) == ([], [])


def forged(work: Path) -> Path:
    """A worktree with all that names it, made by a session out of its own files."""
    own = work / "x" / "worktrees" / "y"
    own.mkdir(parents=True)
    (work / ".git").write_text(f"gitdir: {own}")
    (own / "commondir").write_text("../..")
    (own / "gitdir").write_text(str(work / ".git"))
    return own


def test_a_repository_made_of_links_opens_nothing_behind_them(home: Home, tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    forged(home.workspace)
    for name in ("objects", "refs"):
        (home.workspace / "x" / name).symlink_to(tmp_path / "keys")
    found = made(fence(home).profile(start(home)))
    named = [*found.write, *found.read, str(tmp_path / "keys")]
    assert [os.path.realpath(one) for one in named].count(str(tmp_path / "keys")) == 1


def test_a_repository_elsewhere_than_the_machine_allows_opens_nothing(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    own = forged(tmp_path)
    (tmp_path / "work" / ".git").write_text(f"gitdir: {own}")
    (own / "gitdir").write_text(str(tmp_path / "work" / ".git"))
    found = git_folders(tmp_path / "work", [tmp_path / "work"])
    assert (found.read, found.write) == ([], [])


@pytest.mark.parametrize("name", [".git", "x/worktrees/y/commondir", "x/worktrees/y/gitdir"])
@pytest.mark.parametrize("kind", ["pipe", "endless", "huge"])
def test_whoever_starts_sessions_is_not_kept_by_what_one_has_left(
    tmp_path: Path, name: str, kind: str
) -> None:
    forged(tmp_path)
    (tmp_path / name).unlink()
    match kind:
        case "pipe":
            os.mkfifo(tmp_path / name)
        case "endless":
            (tmp_path / name).symlink_to("/dev/zero")
        case _:
            (tmp_path / name).touch()
            os.truncate(tmp_path / name, 1 << 40)
    found = git_folders(tmp_path, [tmp_path])
    assert (found.read, found.write) == ([], [])


def test_who_works_at_home_does_not_follow_its_links_out(home: Home) -> None:
    user = home.root.parent / "user"
    for name in (".ssh", "code"):
        (user / name).mkdir(parents=True)
    (user / "out").symlink_to("/")
    profile = made(fence(home).profile(start(home, workspace=str(user))))
    assert profile.write == [str(user / "code"), str(home.cache)]


@pytest.mark.parametrize(
    ("pattern", "host", "is_meant"),
    [
        ("example.org", "EXAMPLE.org.", True),
        ("example.org", "a.example.org", False),
        ("*.example.org", "a.b.example.org", True),
        ("*.example.org", "example.org", False),
        ("*.example.org", "badexample.org", False),
        ("10.0.0.1", "10.0.0.1", True),
    ],
)
def test_a_list_means_hosts_and_what_is_below_a_name(
    pattern: str, host: str, is_meant: bool
) -> None:
    assert is_host(pattern)
    assert covers(pattern, host) is is_meant


def test_the_words_say_what_an_old_kernel_lacks() -> None:
    told = words.told(Found(landlock_abi=2, files=True, calls=True, is_root=True), "auto", "list")
    without_mounts = "files: kernel; mounts: no (this system allows none)"
    assert f"{without_mounts}; signals: no (old kernel); sockets: blocked" in told
    assert "network: list, through this machine's proxy" in told
    assert "runs as root" in told


@pytest.mark.parametrize(
    ("abi", "signals"), [(1, "no (old kernel)"), (5, "no (old kernel)"), (6, "kernel")]
)
@pytest.mark.parametrize(("masks", "others"), [(True, "are hidden"), (False, "nothing is hidden")])
def test_a_machine_says_what_holds_for_whom(
    home: Home, abi: int, signals: str, masks: bool, others: str
) -> None:
    found = msgspec.structs.replace(ALL, landlock_abi=abi, masks=masks)
    said = fence(home, found=found).told()["words"]
    assert f"; signals: {signals}; sockets: blocked" in said
    assert said.endswith(others)
    program = made(fence(home, found=found).profile(start(home, runtime_type="acp")))
    assert f"signals: {signals}" in program.told
    assert ("other sessions" in program.told) is bool(program.hidden) is masks


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_a_filter_is_whole_instructions_and_jumps_nowhere_else(machine: str) -> None:
    packed = [session_filter(machine)]
    packed += [
        command_filter(machine, network, keeps_sizes=sizes)
        for network in ("open", "off", "list")
        for sizes in (True, False)
    ]
    for one in packed:
        count = len(one) // 8
        assert len(one) % 8 == 0
        assert count < 4096
        for at in range(count):
            code, yes, no = one[at * 8], one[at * 8 + 2], one[at * 8 + 3]
            if code & 7 == 5:
                assert at + 1 + max(yes, no) < count


def test_a_kernel_without_landlock_is_told_as_no_fence() -> None:
    found = look(abi_max=0)
    assert not words.in_force(found, "auto")
    assert words.told_of_machine(found, "auto").startswith("no fence: the kernel has no Landlock")


def test_root_is_told() -> None:
    assert ("runs as root" in words.told(Found(files=True, is_root=os.geteuid() == 0), "auto")) is (
        os.geteuid() == 0
    )


@pytest.mark.parametrize(
    ("bound", "does", "told"),
    [
        (
            {"file_bytes": 2**20},
            "with open('big', 'wb') as f: f.write(bytes(2**20 + 1))",
            "File too large",
        ),
        ({"memory_bytes": 2**28}, "bytearray(2**29)", "MemoryError"),
        ({}, "import resource as r; assert r.getrlimit(r.RLIMIT_CORE) == (0, 0), 'core'", ""),
    ],
    ids=["file", "memory", "core"],
)
def test_the_kernel_bounds_a_sessions_files_and_memory(
    tmp_path: Path, bound: dict[str, int], does: str, told: str
) -> None:
    """In a process of its own, as a session has: what is bounded there cannot be undone."""
    text = (
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from trunkline.execution.fence.profile import Profile, set_limits\n"
        f"set_limits(Profile(**{bound!r}))\n{does}"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode == 0) is (told == ""), done.stderr
    assert told in done.stderr


def test_a_session_that_uses_more_memory_than_it_may_is_seen() -> None:
    much = "x = bytearray(2**26); x[:] = b'x' * 2**26; print(1, flush=True); input()"
    waits = subprocess.Popen(
        [sys.executable, "-c", much],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert waits.stdout is not None
        waits.stdout.readline()
        problem = Watch(Profile(memory_bytes=2**25)).problem()
        assert problem == "more than 32 MiB of memory"
        assert Watch(Profile()).problem() is None
    finally:
        waits.kill()
        waits.communicate()
