"""A small hub on localhost that speaks as much of the Hugging Face API as ``huggingface_hub`` needs to read a model.

Use it as a context manager and point ``HF_ENDPOINT`` at ``hub.address``::

    with Hub() as hub:
        repository = hub.add("owner/name", {"config.json": b"{}"})
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
"""

from __future__ import annotations

import hashlib
import json
import socket
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass
class Repository:
    """One repository: commits by full hash, each with its files, and the branches and tags that point at them."""

    name: str
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    gated: str = ""  # "files": only files are refused; "all": the description too
    token: str = ""  # a token that may read a gated repository
    resolves_short_hashes: bool = False  # the real hub does not

    def commit(self, files: dict[str, bytes], branch: str = "main") -> str:
        """Adds a commit with exactly these files at the head of ``branch``; returns its full hash."""
        digest = hashlib.sha1(self.name.encode())
        digest.update(str(len(self.commits)).encode())
        for path, data in sorted(files.items()):
            digest.update(path.encode() + b"\0" + data)
        name = digest.hexdigest()
        self.commits[name] = dict(files)
        self.branches[branch] = name
        return name

    def resolve(self, revision: str) -> str | None:
        if revision in self.commits:
            return revision
        found = self.branches.get(revision) or self.tags.get(revision)
        if found is None and self.resolves_short_hashes and len(revision) >= 7:
            found = next((name for name in self.commits if name.startswith(revision)), None)
        return found


class Hub:
    """The server; see the module."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.requests: list[str] = []
        self.delay = 0.0  # seconds before every answer
        self.status = 0  # answered to everything, if set
        self.described: bytes | None = None  # answered, as JSON, for every description
        self.file_status = 0  # answered for every file, if set; -1: the connection is closed
        self.file_headers: dict[str, str] = {}  # instead of the true ones
        self.served: dict[str, bytes] = {}  # bytes served for a path, whatever the commit holds
        hub = self

        class Handler(_Handler):
            pass

        Handler.hub = hub
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.block_on_close = False
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    def add(self, name: str, files: dict[str, bytes]) -> Repository:
        """Adds a repository with one commit on ``main``."""
        repository = Repository(name)
        repository.commit(files)
        self.repositories[name] = repository
        return repository

    def __enter__(self) -> Hub:
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class SilentServer:
    """A socket that accepts connections and never says anything, like a network that swallows packets."""

    def __enter__(self) -> SilentServer:
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.address = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.answer()

    def do_GET(self) -> None:
        self.answer()

    def answer(self) -> None:
        self.hub.requests.append(f"{self.command} {self.path}")
        if self.hub.delay:
            time.sleep(self.hub.delay)
        if self.hub.status:
            return self.refuse(self.hub.status, "", "The server is out of order")
        parts = [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]
        if self.hub.described is not None and parts[:1] == ["api"]:
            return self.send(200, self.hub.described, {"Content-Type": "application/json"})
        if self.hub.file_status > 0 and "resolve" in parts:
            return self.refuse(self.hub.file_status, "", "No file today")
        if self.hub.file_status < 0 and "resolve" in parts:
            self.close_connection = True
            return None
        if parts[:2] == ["api", "models"] and len(parts) >= 4:
            return self.describe("/".join(parts[2:4]), parts[4:])
        if len(parts) >= 5 and parts[2] == "resolve":
            return self.file("/".join(parts[:2]), parts[3], "/".join(parts[4:]))
        return self.refuse(404, "", "Not found")

    def describe(self, name: str, rest: list[str]) -> None:
        repository = self.hub.repositories.get(name)
        if repository is None:
            return self.refuse(401, "RepoNotFound", "Repository not found")
        if repository.gated == "all" and not self.may_read(repository):
            return self.refuse(403, "GatedRepo", f"Access to model {name} is restricted.")
        if rest[:1] == ["refs"]:
            return self.json(
                {
                    "branches": [self.reference("heads", *item) for item in repository.branches.items()],
                    "tags": [self.reference("tags", *item) for item in repository.tags.items()],
                    "converts": [],
                }
            )
        revision = rest[1] if len(rest) > 1 else "main"
        commit = repository.resolve(revision)
        if commit is None:
            return self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return self.json(self.description(repository, commit, rest[0] if rest else ""))

    def description(self, repository: Repository, commit: str, kind: str) -> object:
        files = repository.commits[commit]
        if kind == "commits":
            return [self.history(name) for name in repository.commits]
        if kind == "tree":
            return [self.entry(path, data) for path, data in files.items()]
        blobs = "blobs" in parse_qs(urlsplit(self.path).query)
        siblings = [{"rfilename": path, **({"size": len(data)} if blobs else {})} for path, data in files.items()]
        return {"id": repository.name, "sha": commit, "private": False, "siblings": siblings}

    def file(self, name: str, revision: str, path: str) -> None:
        repository = self.hub.repositories.get(name)
        if repository is None:
            return self.refuse(401, "RepoNotFound", "Repository not found")
        if repository.gated and not self.may_read(repository):
            return self.refuse(403, "GatedRepo", f"Access to model {name} is restricted.")
        commit = repository.resolve(revision)
        if commit is None:
            return self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        data = self.hub.served.get(path, repository.commits[commit].get(path))
        if data is None:
            return self.refuse(404, "EntryNotFound", f"{path} does not exist")
        blob = self.entry(path, repository.commits[commit].get(path, data))["oid"]
        headers = {"X-Repo-Commit": commit, "ETag": f'"{blob}"', "Content-Type": "text/plain"}
        return self.send(200, data, headers | self.hub.file_headers)

    def may_read(self, repository: Repository) -> bool:
        return bool(repository.token) and self.headers.get("Authorization") == f"Bearer {repository.token}"

    def reference(self, kind: str, name: str, commit: str) -> dict[str, str]:
        return {"name": name, "ref": f"refs/{kind}/{name}", "targetCommit": commit}

    def history(self, commit: str) -> dict[str, object]:
        return {"id": commit, "title": "A commit", "message": "", "authors": [], "date": "2025-07-11T00:00:00.000Z"}

    def entry(self, path: str, data: bytes) -> dict[str, object]:
        oid = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        return {"type": "file", "path": path, "size": len(data), "oid": oid}

    def json(self, value: object) -> None:
        self.send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def refuse(self, status: int, code: str, message: str) -> None:
        headers = {"X-Error-Message": message, **({"X-Error-Code": code} if code else {})}
        self.send(status, json.dumps({"error": message}).encode(), headers)

    def send(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        try:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            pass
