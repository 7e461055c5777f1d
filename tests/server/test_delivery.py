"""How answers are delivered: compressed, told apart by tags, to many at once, to whom one chooses."""

from __future__ import annotations

import asyncio
import gzip
import http.client
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from openmodelatlas.errors import UsageError
from openmodelatlas.server.app import _coding
from openmodelatlas.server.serve import AtlasServer, serve
from openmodelatlas.site.assets import asset
from tests.site.sample import build_known, build_sample

REQUESTS = 200


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtlasServer]:
    home = tmp_path_factory.mktemp("home")
    build_sample(home)
    build_known(home)
    running = serve(home)
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    yield running
    running.shutdown()
    thread.join()
    running.server_close()


def _get(server: AtlasServer, path: str, **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def test_pages_are_sent_compressed_to_those_who_take_it(server: AtlasServer) -> None:
    plain, body = _get(server, "/sample/layers/moe/")
    packed, small = _get(server, "/sample/layers/moe/", Accept_Encoding="gzip, deflate")
    assert plain.getheader("Content-Encoding") is None
    assert packed.getheader("Content-Encoding") == "gzip"
    assert gzip.decompress(small) == body
    assert len(small) < len(body) / 3
    assert packed.getheader("Vary") == "Accept-Encoding"
    assert packed.getheader("ETag") != plain.getheader("ETag")
    again, nothing = _get(
        server, "/sample/layers/moe/", Accept_Encoding="gzip", If_None_Match=packed.getheader("ETag") or ""
    )
    assert (again.status, nothing) == (304, b"")


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("", None),
        ("gzip", "gzip"),
        ("deflate, gzip;q=0.5", "gzip"),
        ("gzip;q=0", None),
        ("identity", None),
        ("*", "gzip"),
        ("gzip;q=x", None),
    ],
)
def test_codings_that_a_reader_takes(accepted: str, coding: str | None) -> None:
    assert _coding(accepted) == coding


@pytest.mark.parametrize("name", ["katex/katex.min.css", "katex/fonts/KaTeX_Main-Regular.woff2", "app/app.js"])
def test_files_of_the_front_end_are_served(server: AtlasServer, name: str) -> None:
    wanted = asset(name)
    if wanted is None:
        pytest.skip(f"{name} was not built")
    response, body = _get(server, f"/_assets/{name}")
    assert (response.status, body) == (200, wanted)
    lasting = "max-age=31536000" in (response.getheader("Cache-Control") or "")
    assert lasting == name.endswith(".woff2")


def test_what_is_made_of_an_atlas_is_served(server: AtlasServer) -> None:
    response, body = _get(server, "/_assets/search/known-sum.js")
    assert response.getheader("Content-Type") == "text/javascript; charset=utf-8"
    assert body.startswith(b"omaSearch(")
    response, body = _get(server, "/_assets/math/known-sum.css")
    assert response.getheader("Content-Type") == "text/css; charset=utf-8"
    assert b"margin-right:0.05em" in body
    assert _get(server, "/_assets/search/other.js")[0].status == 404


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/mechanisms/", 200),
        ("/mechanisms/residual-addition/", 200),
        ("/known-sum/mechanisms/", 200),
        ("/known-sum/mechanisms/residual-addition/", 200),
        ("/sample/mechanisms/", 404),
        ("/sample/mechanisms/residual-addition/", 404),
        ("/mechanisms/nothing/", 404),
        ("/mechanisms/residual-addition/deeper/", 404),
        ("/mechanisms/index.md", 200),
        ("/mechanisms/residual-addition/index.json", 200),
        ("/known-sum/mechanisms.json", 200),
        ("/known-sum/mechanisms/residual-addition.md", 200),
        ("/sample/mechanisms/index.json", 404),
        ("/mechanisms/nothing/index.md", 404),
        ("/mechanisms/residual-addition/diagram.svg", 404),
    ],
)
def test_pages_of_mechanisms(server: AtlasServer, path: str, status: int) -> None:
    assert _get(server, path)[0].status == status


async def _ask(port: int, path: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    await writer.drain()
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


def test_two_hundred_at_once_are_all_answered(server: AtlasServer) -> None:
    paths = ["/", "/sample/", "/sample/layers/moe/index.json", "/known-sum/layers/first/", "/_assets/atlas.css"]

    async def all_at_once() -> list[bytes]:
        return await asyncio.gather(*(_ask(server.port, paths[n % len(paths)]) for n in range(REQUESTS)))

    started = time.monotonic()
    answers = asyncio.run(all_at_once())
    assert len(answers) == REQUESTS
    assert all(answer.startswith(b"HTTP/1.1 200 ") for answer in answers)
    for n in range(len(paths)):  # nothing is lost or mixed up
        bodies = {answer.partition(b"\r\n\r\n")[2] for answer in answers[n :: len(paths)]}
        assert len(bodies) == 1
        assert len(bodies.pop()) > 1000
    assert time.monotonic() - started < 30


def test_a_host_of_another_machine_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be used"):
        serve(tmp_path, host="203.0.113.7")
    with pytest.raises(UsageError, match="cannot be used"):
        serve(tmp_path, host="no such host")


def test_a_host_that_is_chosen(tmp_path: Path) -> None:
    with serve(tmp_path, host="0.0.0.0") as everywhere:
        assert everywhere.server_address[0] == "0.0.0.0"
        assert everywhere.url == f"http://localhost:{everywhere.port}/"
