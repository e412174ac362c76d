"""Grammars as llguidance takes them, and a process that tries one out.

As a program (`python -P trial.py`) it reads `{"kind", "text"}` from its input and writes
`{"refusal"}`: why the library does not take the grammar, or null. Whoever starts it may kill it:
nothing but this grammar is lost. So it imports the library alone, nothing of bakeoff.
"""

from __future__ import annotations

import json
import sys

BLANKS = r"( ?|\n {0,20})"
"""What may stand between the parts of JSON: without a bound, a model may go on for ever."""
_LONGEST = 300
"""Characters of a refusal."""
MEMORY = 2 * 2**30
"""Bytes of address space that trying a grammar out may take."""


def library_grammar(kind: str, text: str) -> str:
    """A grammar in the library's own form.

    Raises:
        ValueError: it cannot be read.
    """
    from llguidance import LLMatcher, grammar_from

    if kind == "regex":
        return str(LLMatcher.grammar_from_regex(text))
    if kind == "grammar":
        return str(grammar_from("gbnf", text))
    schema = text if kind == "json_schema" else '{"type": "object"}'
    return str(
        LLMatcher.grammar_from_json_schema(
            schema,
            # over what the schema itself may say to the library: lenient ones are not followed
            overrides={"whitespace_pattern": BLANKS, "lenient": False, "coerce_one_of": False},
        )
    )


def refusal(kind: str, text: str) -> str | None:
    """Why the library does not take a grammar; None where it does."""
    from llguidance import LLMatcher

    try:
        wrong, said = LLMatcher.validate_grammar_with_warnings(library_grammar(kind, text))
    except Exception as error:  # a converter raises what it likes
        return short(str(error)) or type(error).__name__
    return short(said[0]) if wrong else None


def short(message: str) -> str:
    """A message of the library in one line, without the picture of the grammar below it."""
    lines = [line.strip() for line in message.splitlines()]
    last = next((line for line in lines if line.startswith("error: ")), "")
    told = " ".join(line for line in lines[:1] + ([last] if last not in lines[:1] else []) if line)
    return told if len(told) <= _LONGEST else told[: _LONGEST - 3] + "..."


def main() -> None:
    """See above."""
    _bound()
    said = json.load(sys.stdin)
    json.dump({"refusal": refusal(said["kind"], said["text"])}, sys.stdout)


def _bound() -> None:
    """Limit the memory of this process, where the system can."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = MEMORY if hard == resource.RLIM_INFINITY else min(MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


if __name__ == "__main__":
    main()
