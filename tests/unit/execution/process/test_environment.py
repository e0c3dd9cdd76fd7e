"""What programs of a session inherit."""

import sys
from pathlib import Path

import pytest

from trunkline.execution.process.environment import scrubbed


@pytest.mark.parametrize(
    "name",
    [
        *("OPENAI_API_KEY", "anthropic_api_key", "VM_TOKEN", "VM_TICKET", "TRUNKLINE_PORT"),
        *("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "DB_PASSWORD", "GH_TOKEN", "CLIENT_SECRET"),
        *("DATABASE_URL", "SSH_AUTH_SOCK", "GOOGLE_APPLICATION_CREDENTIALS", "CONTROL_PLANE_WS"),
        *("MYSQL_PWD", "SMTP_PASS", "AZURE_STORAGE_CONNECTION_STRING", "SLACK_WEBHOOK_URL"),
        *("DOCKER_AUTH_CONFIG", "NPM_CONFIG__AUTH", "LD_PRELOAD", "LD_AUDIT"),
        *("BASH_ENV", "BASH_FUNC_ls%%", "ENV", "SESSION_COOKIE", "NPM_TOKEN_2"),
    ],
)
def test_secrets_and_traps_are_left_out(name: str) -> None:
    assert name not in scrubbed({name: "value"})


@pytest.mark.parametrize(
    "name",
    [
        *("HOME", "LANG", "EDITOR", "KEYBOARD", "TOKENIZERS_PARALLELISM", "PWD", "OLDPWD"),
        *("COMPASS", "AUTHOR", "LD_LIBRARY_PATH"),
    ],
)
def test_ordinary_variables_stay(name: str) -> None:
    assert scrubbed({name: "value"})[name] == "value"


@pytest.mark.parametrize("name", ["REDIS_URL", "MONGODB_URI", "SENTRY_DSN", "BROKER"])
@pytest.mark.parametrize("value", ["redis://:pw@host/0", "amqp://ada:p@w@host", "x=http://a:b@c"])
def test_an_address_with_a_password_in_it_is_left_out(name: str, value: str) -> None:
    assert name not in scrubbed({name: value})
    assert scrubbed({name: value}, keep=[name])[name] == value


def test_addresses_without_a_password_and_proxies_stay() -> None:
    env = {
        "REDIS_URL": "redis://host:6379/0",
        "GIT_URL": "ssh://git@host/x",
        "DOCS_URL": "https://host/a:b@c",
        "https_proxy": "http://ada:pw@proxy:3128",
    }
    assert env.items() <= scrubbed(env).items()


def test_no_skill_brings_a_trap_along() -> None:
    assert "LD_PRELOAD" not in scrubbed({"LD_PRELOAD": "x.so"}, keep=["LD_PRELOAD"])


def test_a_skill_gets_the_variable_it_needs_but_never_ours() -> None:
    env = {"NOTION_API_KEY": "n", "VM_TOKEN": "v", "OTHER_API_KEY": "o"}
    kept = scrubbed(env, keep={"NOTION_API_KEY", "VM_TOKEN"})
    assert kept["NOTION_API_KEY"] == "n"
    assert not {"VM_TOKEN", "OTHER_API_KEY"} & set(kept)


def test_a_known_secret_is_left_out_under_any_name() -> None:
    env = {"A": "sk-123456789", "B": "x=sk-123456789;", "C": "fine", "D": "k"}
    assert set(scrubbed(env, secrets=["sk-123456789", "k", ""])) & set(env) == {"C"}


def test_this_python_is_found_last() -> None:
    own = str(Path(sys.executable).parent)
    assert scrubbed({"PATH": f"{own}:/usr/bin"})["PATH"] == f"/usr/bin:{own}"
    assert scrubbed({})["PATH"].endswith(f":{own}")
