"""Document 004 §8: how skills are offered, fetched and used."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "004-8-lazy",
        "No package is fetched before its skill is used: the start needs the index only.",
        "execution.md#skills",
    ),
    Requirement(
        "004-8-requires-binaries",
        "A skill whose `requires.binaries` are not all on the machine is unavailable, and each one"
        " missing is named as `binary:…`.",
        "execution.md#skills",
    ),
    Requirement(
        "004-8-requires-env-vars",
        "A skill whose `requires.env_vars` are not all set is unavailable, and each one missing is"
        " named as `env:…`.",
        "execution.md#skills",
    ),
    Requirement(
        "004-8-unavailable-not-offered",
        "An unavailable skill is not in the index that the model is shown.",
        "execution.md#skills",
    ),
    Requirement(
        "004-8-index-format",
        "The model is shown `<available_skills>` with each skill's name, path, description and"
        " files.",
        "execution.md#skills",
    ),
    Requirement(
        "004-8-index-instructions",
        "Below the index it is told to read SKILL.md by `read_skill_file` first and to run scripts"
        " by `bash`.",
        "execution.md#skills",
    ),
    Requirement(
        "004-8-cache-hit",
        "A skill whose folder has a SKILL.md is read from there and not asked for.",
        "execution.md#skills",
    ),
    Requirement(
        "004-8-cache-miss",
        "A skill that is not cached is asked of the control plane, written, and then read.",
        "execution.md#skills",
    ),
    Requirement(
        "004-8-text-and-base64",
        "Text files are written as UTF-8 and base64 files as their bytes.",
        "execution.md#skills",
    ),
    Requirement(
        "004-8-version",
        "The version that the index names is asked for, and `latest` where it names none.",
        "execution.md#skills",
    ),
    Requirement(
        "004-8-stays-cached",
        "A cached skill stays, also for sessions that are started later.",
        "execution.md#skills",
    ),
    Requirement(
        "004-8-inside-the-folder",
        "A package writes inside the folder of its skill and nowhere else.",
        "execution.md#skills",
    ),
    Requirement(
        "004-8-used-as-it-is",
        "A package with a script runs unchanged: SKILL.md is read, the script runs, its output"
        " reaches the model.",
        "execution.md#skills",
    ),
)
