"""The server answers as a static host would, and with help where there is nothing."""

from __future__ import annotations

import http.client
import json
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from openmodelatlas.bundle.store import read, write
from openmodelatlas.errors import UsageError
from openmodelatlas.server.pages import Pages
from openmodelatlas.server.serve import AtlasServer, serve
from openmodelatlas.site.export import export
from tests.site.sample import (
    build_known,
    build_running_sum,
    build_sample,
    open_samples,
    sample_document,
    sample_values,
    texts_of,
)


def _run(server: AtlasServer) -> Iterator[AtlasServer]:
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    build_sample(folder)
    build_running_sum(folder)
    build_known(folder)
    return folder


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[AtlasServer]:
    yield from _run(serve(home))


def _ask(server: AtlasServer, path: str, method: str = "GET", **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.putrequest(method, path)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def test_it_listens_on_this_machine_only(server: AtlasServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert server.port > 0
    assert server.url == f"http://127.0.0.1:{server.port}/"


def test_a_taken_port_is_a_clear_error(home: Path, server: AtlasServer) -> None:
    with pytest.raises(UsageError, match=f"Port {server.port} cannot be used"):
        serve(home, server.port)
    with pytest.raises(UsageError, match="Port 99999 cannot be used"):
        serve(home, 99999)


def _without_twin(page: bytes) -> bytes:
    """A page of an export without the Markdown that scripts cannot read from a file."""
    return re.sub(rb',"markdown":"(?:[^"\\]|\\.)*"', b"", page)


def test_the_same_bytes_as_the_export(server: AtlasServer, home: Path, tmp_path: Path) -> None:
    atlases = [read(home / "atlases" / name) for name in ("known-sum", "running-sum", "sample")]
    export(atlases, tmp_path / "site")
    folder = tmp_path / "site"
    for path in (*folder.rglob("index.*"), *folder.rglob("diagram.*")):
        response, body = _ask(server, f"/{path.relative_to(tmp_path / 'site').as_posix()}")
        assert response.status == 200
        assert body == _without_twin(path.read_bytes())


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/sample/", "text/html; charset=utf-8"),
        ("/sample/layers/moe/", "text/html; charset=utf-8"),
        ("/sample/contents/", "text/html; charset=utf-8"),
        ("/sample/layers/moe.json", "application/json"),
        ("/sample/layers/moe/index.json?x=1", "application/json"),
        ("/sample/layers/moe.md", "text/markdown; charset=utf-8"),
        ("/_assets/atlas.css", "text/css; charset=utf-8"),
        ("/_assets/icon.svg", "image/svg+xml"),
        ("/favicon.ico", "image/svg+xml"),
    ],
)
def test_types_and_headers(server: AtlasServer, path: str, content_type: str) -> None:
    response, body = _ask(server, path)
    assert response.status == 200
    assert response.getheader("Content-Type") == content_type
    assert response.getheader("X-Content-Type-Options") == "nosniff"
    policy = response.getheader("Content-Security-Policy") or ""
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert len(body) == int(response.getheader("Content-Length") or 0)


def test_an_unchanged_page_is_not_sent_again(server: AtlasServer) -> None:
    first, _ = _ask(server, "/sample/layers/")
    tag = first.getheader("ETag") or ""
    again, body = _ask(server, "/sample/layers/", If_None_Match=f'"other", W/{tag}')
    assert (again.status, body) == (304, b"")
    other, _ = _ask(server, "/sample/layers/index.json", If_None_Match=tag)
    assert other.status == 200


def test_head_has_the_headers_without_the_body(server: AtlasServer) -> None:
    whole, body = _ask(server, "/sample/")
    head, nothing = _ask(server, "/sample/", "HEAD")
    assert nothing == b""
    assert head.getheader("Content-Length") == str(len(body))
    assert head.getheader("ETag") == whole.getheader("ETag")


def test_reading_only(server: AtlasServer) -> None:
    for method in ("POST", "PUT", "DELETE"):
        assert _ask(server, "/sample/", method)[0].status == 405


def test_a_missing_slash_is_added(server: AtlasServer) -> None:
    response, _ = _ask(server, "/sample/layers")
    assert (response.status, response.getheader("Location")) == (308, "/sample/layers/")


@pytest.mark.parametrize("path", ["//evil.example/x", "//evil.example", "/\\evil.example/x"])
def test_redirections_stay_here(server: AtlasServer, path: str) -> None:
    response, _ = _ask(server, path)
    assert response.status == 404 or not (response.getheader("Location") or "").startswith("//")


def test_what_is_missing_is_answered_with_what_comes_close(server: AtlasServer) -> None:
    response, body = _ask(server, "/sample/layers/dense/soft-attn/")
    assert response.status == 404
    assert b'href="/sample/layers/dense/self-attn/"' in body
    response, body = _ask(server, "/kimi-k9/")
    assert response.status == 404
    assert b"oma build kimi-k9" in body


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/sample/%2e%2e/%2e%2e/home",
        "/sample/..\\..\\x",
        "/sample/\x01/",
        "/sample/%00/",
        "/_assets/../pages.py",
        "/_assets/html.py",
        "/sample/current",
        "/sample/<script>alert(1)</script>/",
        "/<script>alert(1)</script>/",
        "/%ff%fe/",
    ],
)
def test_nothing_else_is_served(server: AtlasServer, path: str) -> None:
    answer = server.pages.answer(path)
    assert answer.status in (404, 308)
    assert b"root:" not in answer.body
    assert b"<script>" not in answer.body


def test_without_models_the_list_says_how_to_build_one(tmp_path: Path) -> None:
    answer = Pages(tmp_path).answer("/")
    assert answer.status == 200
    assert b"oma build kimi-k2" in answer.body


def test_the_list_says_how_long_a_build_took(tmp_path: Path) -> None:
    build_running_sum(tmp_path)
    document = sample_document()
    texts, values = texts_of(document), sample_values()
    write(document, texts=texts, values=values, home=tmp_path, model="sample", seconds=7.2)
    cards = Pages(tmp_path).answer("/").body.decode().split('<li class="card"')[1:]
    assert ["</time> in 7.2\u00a0s<" in card for card in cards] == [False, True]
    assert ["</time> · build time not recorded<" in card for card in cards] == [True, False]


def test_only_the_chosen_models_are_shown(home: Path) -> None:
    pages = Pages(home, ["sample"])
    assert b"running-sum" not in pages.answer("/").body
    assert pages.answer("/running-sum/").status == 404
    assert pages.answer("/sample/").status == 200


def test_a_new_build_shows_without_a_restart(tmp_path: Path) -> None:
    pages = Pages(tmp_path)
    open_samples(tmp_path)
    before = pages.answer("/sample/index.json")
    document = msgspec.structs.replace(sample_document(), title="Renamed")
    write(document, texts=texts_of(document), values=sample_values(), home=tmp_path, model="sample")
    after = pages.answer("/sample/index.json")
    assert json.loads(after.body)["model_title"] == "Renamed"
    assert after.etag != before.etag


def test_a_damaged_atlas_is_an_error_page(tmp_path: Path) -> None:
    folder = build_sample(tmp_path)
    (read(folder).folder / "atlas.json").write_bytes(b"{}")
    answer = Pages(tmp_path).answer("/sample/")
    assert answer.status == 500
    assert b"not what was written" in answer.body


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("/sample%0d%0aSet-Cookie:a=b", "/sample%0D%0ASet-Cookie%3Aa%3Db/"),
        ("/%2felsewhere.example/a", "/elsewhere.example/a/"),
        ("/%2f%2felsewhere.example", "/elsewhere.example/"),
        ("/caf%C3%A9", "/caf%C3%A9/"),
        ("/%ff", "/%EF%BF%BD/"),
    ],
)
def test_a_redirection_is_one_header_and_stays_here(server: AtlasServer, path: str, location: str) -> None:
    response, _ = _ask(server, path)
    assert (response.status, response.headers["Location"]) == (308, location)
    assert response.headers["Set-Cookie"] is None


def test_a_target_that_is_no_address(home: Path) -> None:
    assert Pages(home).answer("http://[::1/").status == 400


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder, current: (folder / "current").write_bytes(b"..\xff"),
        lambda folder, current: (folder / "current").write_bytes(b"0" * 16),
        lambda folder, current: (current / "manifest.json").write_bytes(b"["),
        lambda folder, current: (current / "atlas.json").write_bytes(b"{}"),
        lambda folder, current: (current / "atlas.json").unlink(),
    ],
    ids=["pointer", "generation", "manifest", "altered", "missing"],
)
def test_a_damaged_atlas_does_not_take_the_others_along(tmp_path: Path, damage: Callable[[Path, Path], object]) -> None:
    build_sample(tmp_path)
    build_running_sum(tmp_path)
    folder = tmp_path / "atlases" / "sample"
    damage(folder, folder / (folder / "current").read_text().strip())
    pages = Pages(tmp_path)
    listing = pages.answer("/")
    assert listing.status == 200
    assert b"running-sum/index.html" in listing.body
    assert b"This atlas cannot be shown" in listing.body
    assert pages.answer("/running-sum/").status == 200
    assert pages.answer("/sample/").status == 500


def test_a_fault_of_our_own_is_answered(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = Pages(home)
    monkeypatch.setattr(pages, "_find", lambda path: 1 / 0)
    answer = pages.answer("/sample/")
    assert answer.status == 500
    assert b"ZeroDivisionError" in answer.body


def test_clients_that_go_away_are_not_reported(server: AtlasServer, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(5):
        client = socket.create_connection(("127.0.0.1", server.port))
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closing sends a reset
        client.sendall(b"GET /sample/ HTTP/1.1\r\n\r\n")
        client.close()
    assert _ask(server, "/sample/")[0].status == 200
    assert "Traceback" not in capsys.readouterr().err
