"""Document 004 §9: models."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "004-9-keys-of-init",
        "Models are called with the API keys of `init`.",
        "execution.md#models",
    ),
    Requirement(
        "004-9-keys-in-memory-only",
        "Keys are in memory only: in no file, log, environment or command line.",
        "execution.md#models",
    ),
    Requirement(
        "004-9-openai-direct",
        "OpenAI's API is called by the machine itself.",
        "execution.md#models",
    ),
    Requirement(
        "004-9-anthropic-direct",
        "Anthropic's API is called by the machine itself.",
        "execution.md#models",
    ),
    Requirement(
        "004-9-tokens-to-readers",
        "Tokens of a model go up the line with their session as they come, and on to its readers.",
        "execution.md#models",
    ),
    Requirement(
        "004-9-usage-after-each-call",
        "After each call of a model its usage is reported, and the turn does not wait for it.",
        "execution.md#models",
    ),
    Requirement(
        "004-9-retries",
        "A call that failed for a passing reason is tried again, three times, after 1, 2 and 4"
        " seconds.",
        "execution.md#models",
    ),
    Requirement(
        "004-9-fallback",
        "When a model cannot be had, the agent's fallback model is asked.",
        "execution.md#models",
    ),
    Requirement(
        "004-9-failure-is-told",
        "A call that failed for good is an `execution_error` of its turn in words for people.",
        "execution.md#models",
    ),
)
