"""The code blocks of README.md and docs/*.md, and how they are run. CONTRIBUTING.md says how to
mark a block."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

RUN = ("bash", "console", "python")
"""Languages whose blocks are run."""
REFUSED = {"sh": "bash", "shell": "bash", "zsh": "bash", "shell-session": "console", "py": "python"}
"""Language -> how to write it here, so that no block escapes by its spelling."""
SKIPS = ("needs-network", "needs-gpu", "installs")
OPTIONS = ("file", "skip", "expect", "exit")

COMMENT = re.compile(r"<!--\s*(run|expect)\s*(?::\s*(.*?))?\s*-->")
FENCE = re.compile(r"(\s*)(```+|~~~+)\s*([^\s`{]*).*")


class BadPage(Exception):
    """A block is marked in a way that means nothing."""


class BlockFailed(AssertionError):
    """A block did not do what the page says."""


@dataclass
class Block:
    """One code block.

    Attributes:
        language: as written after the fence, in lower case.
        text: what stands inside, without the indentation of the fence.
        line: of the fence.
        file: name to write it under instead of running it.
        skip: why it is not run.
        expect: texts that its output has to hold.
        exit: exit status that it has to end with.
    """

    language: str
    text: str
    line: int
    file: str | None = None
    skip: str | None = None
    expect: list[str] = field(default_factory=list)
    exit: int = 0


def blocks(text: str) -> list[Block]:
    """All code blocks of a page.

    Raises:
        BadPage: an option or language is unknown, or a comment stands before no block.
    """
    found: list[Block] = []
    marks: list[tuple[str, str, int]] = []
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        fence = FENCE.fullmatch(line)
        if fence:
            body = []
            for _, inner in lines:
                if inner.strip() == fence[2]:
                    break
                body.append(inner.removeprefix(fence[1]))
            block = Block(fence[3].lower(), "\n".join(body) + "\n", number)
            _mark(block, marks)
            marks = []
            found.append(block)
            continue
        if not COMMENT.sub("", line).strip():  # prose may quote a comment
            marks += [(m[1], m[2] or "", number) for m in COMMENT.finditer(line)]
        elif marks:
            raise BadPage(f"line {marks[0][2]}: this comment stands before no code block")
    if marks:
        raise BadPage(f"line {marks[0][2]}: this comment stands before no code block")
    return found


def _mark(block: Block, marks: list[tuple[str, str, int]]) -> None:
    for kind, rest, line in marks:
        if kind == "expect":
            block.expect.append(rest)
        elif rest:
            option, _, value = rest.partition("=")
            if option not in OPTIONS or not value:
                raise BadPage(f"line {line}: {rest!r}; an option is one of {', '.join(OPTIONS)}")
            if option == "expect":
                block.expect.append(value)
            else:
                setattr(block, option, int(value) if option == "exit" else value)
    if block.language in REFUSED:
        raise BadPage(f"line {block.line}: write {REFUSED[block.language]}, not {block.language}")
    if block.skip is not None and block.skip not in SKIPS:
        raise BadPage(f"line {block.line}: skip={block.skip}; the reasons are {', '.join(SKIPS)}")
    if marks and block.language not in RUN and block.file is None and block.skip is None:
        raise BadPage(f"line {block.line}: a block in {block.language or 'no language'} is not run")


class Runner:
    """Runs blocks one after another in one folder."""

    def __init__(self, folder: Path, scripts: Path, timeout: float) -> None:
        """`scripts` is the folder of `bakeoff` and `python`; `timeout` is in seconds a command."""
        self.folder = folder
        self.timeout = timeout
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")
        }
        self.environment |= {
            "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
            "NO_COLOR": "1",
            "COLUMNS": "100",
            "TERM": "dumb",
        }

    def run(self, block: Block) -> None:
        """Write, run or skip the block.

        Raises:
            BlockFailed: it ended otherwise than the page says, or its output lacks something.
        """
        if block.skip is not None:
            return
        if block.file is not None:
            path = self.folder / block.file
            if not path.resolve().is_relative_to(self.folder.resolve()):
                raise BadPage(f"line {block.line}: {block.file} lies outside the folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.language == "bash":
            self._command(block, ["bash", "-euo", "pipefail", "-c", block.text], block.exit)
        elif block.language == "python":
            self._command(block, ["python", "-c", block.text], block.exit)
        elif block.language == "console":
            self._session(block)

    def _session(self, block: Block) -> None:
        commands = session(block.text)
        if not commands:
            raise BadPage(f"line {block.line}: no line begins with '$ '")
        said = []
        for index, (command, shown) in enumerate(commands):
            status = block.exit if index == len(commands) - 1 else 0
            output = self._plain(block, ["bash", "-euo", "pipefail", "-c", command], status)
            said.append(output)
            if shown and not matches(shown, output):
                raise BlockFailed(
                    f"line {block.line}: `{command}` printed\n{output}\nand the page shows\n{shown}"
                )
        self._expected(block, "\n".join(said))

    def _command(self, block: Block, command: list[str], status: int) -> None:
        self._expected(block, self._plain(block, command, status))

    def _plain(self, block: Block, command: list[str], status: int) -> str:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=self.timeout,
            check=False,
        )
        if done.returncode != status:
            raise BlockFailed(
                f"line {block.line}: exit status {done.returncode}, not {status}\n"
                f"{command[-1]}\n{done.stdout}"
            )
        return done.stdout

    def _expected(self, block: Block, output: str) -> None:
        for text in block.expect:
            if text not in output:
                raise BlockFailed(f"line {block.line}: the output lacks {text!r}:\n{output}")


def session(text: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output shown below it.

    A command begins with `$ ` and goes on in lines that begin with `> `.
    """
    found: list[tuple[list[str], list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif not found:
            raise BadPage(f"a console block begins with '$ ', not with {line!r}")
        elif line.startswith("> ") and not found[-1][1]:
            found[-1][0].append(line[2:])
        else:
            found[-1][1].append(line)
    return [("\n".join(command), "\n".join(shown).strip()) for command, shown in found]


def matches(shown: str, output: str) -> bool:
    """Whether that was printed; `...` stands for any text, trailing blanks do not count."""
    pattern = r"\s*\n".join(
        ".*?".join(re.escape(piece) for piece in line.rstrip().split("..."))
        for line in shown.strip().splitlines()
    )
    return re.fullmatch(pattern, output.strip(), re.DOTALL) is not None
