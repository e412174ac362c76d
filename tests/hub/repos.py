"""What the test hub holds: repositories, their revisions and files, addressed by content."""

import hashlib
import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypedDict

Kind = Literal["model", "dataset"]

# The Hub keeps these with Git LFS: their ETag is a SHA-256, and a listing carries an `lfs` entry.
LFS_SUFFIXES = frozenset(
    {".safetensors", ".bin", ".gguf", ".parquet", ".arrow", ".model", ".pt", ".onnx", ".h5", ".gz"}
)
LFS_SIZE = 10 * 1024 * 1024


@dataclass(frozen=True)
class RemoteCode:
    """Python that a checkpoint brings along.

    `files` maps file names to source text; `auto_map` is written into config.json, e.g.
    {"AutoConfig": "custom.MyConfig", "AutoModelForCausalLM": "custom.MyModel"}. So is `model_type`:
    with a type that transformers knows, it loads its own class unless remote code is trusted; with
    an unknown one it refuses.
    """

    files: Mapping[str, str]
    auto_map: Mapping[str, str]
    model_type: str | None = None


class RepoOptions(TypedDict, total=False):
    """Options of `Hub.add_model` and `Hub.add_dataset`."""

    revisions: Mapping[str, Path]  # branches: name -> folder ("main" may be among them)
    tags: Mapping[str, Path]  # tags: name -> folder
    gated: bool  # files only for tokens with access; the listing is public
    private: bool  # for everybody else the repository does not exist
    missing: Iterable[str]  # paths of the folder that the repository lacks
    slow: float  # bytes a second of every file body
    # A longer file body stops after that many bytes and the connection closes. huggingface_hub then
    # resumes behind the last whole 10 MiB chunk, and starts afresh when there was none.
    interrupt_after: int
    interrupt_times: int  # so often (default 1), counted over the whole repository
    remote_code: RemoteCode


@dataclass(frozen=True)
class File:
    """One file of a snapshot; the bytes stay in the folder unless they were made here."""

    path: str
    source: Path | bytes
    size: int
    oid: str  # Git blob id
    sha256: str

    @classmethod
    def read(cls, path: str, source: Path | bytes) -> "File":
        data = source if isinstance(source, bytes) else source.read_bytes()
        oid = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
        return cls(path, source, len(data), oid, hashlib.sha256(data).hexdigest())

    @property
    def lfs(self) -> bool:
        return Path(self.path).suffix in LFS_SUFFIXES or self.size > LFS_SIZE

    @property
    def etag(self) -> str:
        return self.sha256 if self.lfs else self.oid

    def content(self, first: int, last: int) -> bytes:
        """Bytes first..last, both counted."""
        if isinstance(self.source, bytes):
            return self.source[first : last + 1]
        with self.source.open("rb") as stream:
            stream.seek(first)
            return stream.read(last - first + 1)


@dataclass(frozen=True)
class Snapshot:
    """The files of one commit; the commit id follows from paths and contents alone."""

    commit: str
    files: Mapping[str, File]

    @classmethod
    def of(cls, files: Iterable[File]) -> "Snapshot":
        ordered = sorted(files, key=lambda file: file.path)
        listing = "".join(f"{file.oid} {file.path}\n" for file in ordered)
        commit = hashlib.sha1(listing.encode(), usedforsecurity=False).hexdigest()
        return cls(commit, {file.path: file for file in ordered})

    def folders(self) -> set[str]:
        parents = (Path(path).parents for path in self.files)
        return {parent.as_posix() for chain in parents for parent in chain} - {"."}


@dataclass
class Repo:
    """A repository and the faults it shows."""

    id: str
    kind: Kind
    branches: Mapping[str, Snapshot]
    tags: Mapping[str, Snapshot]
    gated: bool = False
    private: bool = False
    slow: float | None = None
    interrupt_after: int | None = None
    interruptions_left: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def resolve(self, revision: str) -> Snapshot | None:
        """The snapshot behind a branch, a tag or a full commit id."""
        for name, snapshot in {**self.tags, **self.branches}.items():
            names = {name, f"refs/heads/{name}", f"refs/tags/{name}", snapshot.commit}
            if revision in names:
                return snapshot
        return None

    def take_interruption(self, length: int) -> int | None:
        """After how many bytes a body of this length is to break off; None: it is sent whole."""
        with self._lock:
            limit = self.interrupt_after
            if limit is None or length <= limit or self.interruptions_left <= 0:
                return None
            self.interruptions_left -= 1
            return limit


def build(repo_id: str, kind: Kind, folder: Path | None, options: RepoOptions) -> Repo:
    """A repository from folders.

    Raises:
        ValueError: there is no main branch.
    """
    folders = dict(options.get("revisions", {}))
    if folder is not None:
        folders["main"] = folder
    if "main" not in folders:
        raise ValueError(f"{repo_id!r} has no 'main' revision: give a folder or revisions['main']")
    interrupt_after = options.get("interrupt_after")
    return Repo(
        repo_id,
        kind,
        branches={name: _snapshot(path, options) for name, path in folders.items()},
        tags={name: _snapshot(path, options) for name, path in options.get("tags", {}).items()},
        gated=options.get("gated", False),
        private=options.get("private", False),
        slow=options.get("slow"),
        interrupt_after=interrupt_after,
        interruptions_left=options.get("interrupt_times", 1 if interrupt_after is not None else 0),
    )


def _snapshot(folder: Path, options: RepoOptions) -> Snapshot:
    if not folder.is_dir():
        raise ValueError(f"{str(folder)!r} is not a folder")
    sources: dict[str, Path | bytes] = {
        path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()
    }
    code = options.get("remote_code")
    if code is not None:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        config["auto_map"] = dict(code.auto_map)
        config["model_type"] = code.model_type or config["model_type"]
        sources["config.json"] = json.dumps(config, indent=2).encode()
        sources.update({name: text.encode() for name, text in code.files.items()})
    unknown = set(options.get("missing", ())) - set(sources)
    if unknown:
        raise ValueError(f"missing={sorted(unknown)!r}: {str(folder)!r} has no such file anyway")
    kept = set(sources) - set(options.get("missing", ()))
    return Snapshot.of(File.read(name, sources[name]) for name in kept)
