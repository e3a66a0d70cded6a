"""Servers and archives that misbehave: the right file comes, or an error does, and nothing half is left behind."""

import gzip
import hashlib
import io
import socketserver
import tarfile
import threading
import time
import zipfile

import numpy as np
import pytest

from twicetold_lab.data import transfer
from twicetold_lab.data.archives import Content, unpack
from twicetold_lab.data.download import DownloadError, RemoteFile, fetch
from twicetold_lab.data.transfer import AddressError

LINES = [f"{n}\tleft {n * 7919 % 10_007}\tright {n * 104_729 % 10_009}" for n in range(12_000)]
GOOD = ("id\tone\tother\n" + "\n".join(LINES) + "\n").encode()
OTHER = GOOD[::-1]
SMALL = 2_000_000  # max_bytes


def zipped(data):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a.tsv", data)
    return out.getvalue()


def rolled(data):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in (("x/a.tsv", data), ("x/later", b"later" * 20_000)):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


KINDS = {  # what is known about the file, and what the server holds
    "checksum": ({"sha256": hashlib.sha256(GOOD).hexdigest()}, GOOD),
    "size": ({"size": len(GOOD)}, GOOD),
    "content": ({"content": Content(first_line="id\tone", lines=(12_001, 12_001), columns=(3, 3))}, GOOD),
    "nothing": ({}, GOOD),
    "zip": ({"member": "a.tsv"}, zipped(GOOD)),
    "tar": ({"member": "x/a.tsv"}, rolled(GOOD)),
}


# ----------------------------------------------------------------------------------------------------- misbehaviours
# Each is a function of the data, the first byte asked for (0 without a range) and the connection's number from 0; it
# gives the pieces of the response. A number among the pieces is a pause in seconds.


def head(length=None, status="200 OK", **fields):
    found = {"Content-Length": length, "ETag": '"one"', "Connection": "close"} | {
        name.replace("_", "-"): value for name, value in fields.items()
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in found.items() if value is not None)
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode("latin-1")


def part(data, start, body=None, **fields):
    """A response to a range."""
    where = f"bytes {start}-{len(data) - 1}/{len(data)}"
    return [head(len(data) - start, "206 Partial Content", **{"Content-Range": where} | fields), body or data[start:]]


def half_then(rest):
    """Cut the first connection in the middle, and then do something."""
    return lambda data, start, number: [head(len(data)), data[: len(data) // 2]] if not number else rest(data, start)


def chunked(*pieces, end=True):
    body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return [head(Transfer_Encoding="chunked"), body + (b"0\r\n\r\n" if end else b"")]


MISBEHAVIOURS = {
    "cut": lambda data, start, _: [head(len(data)), data[: len(data) // 2]],
    "cut without length": lambda data, start, _: [head(), data[: len(data) // 2]],
    "cut near the end without length": lambda data, start, _: [head(), data[:-40]],
    "cut with a bad length": lambda data, start, _: [head("many"), data[: len(data) // 2]],
    "cut with a negative length": lambda data, start, _: [head(-5), data[: len(data) // 2]],
    "cut in chunks": lambda data, start, _: chunked(data[:1000], data[1000:5000], end=False),
    "length too great": lambda data, start, _: [head(len(data) + 100), data],
    "length too small": lambda data, start, _: [head(len(data) // 2), data],
    "other bytes in a range": half_then(lambda data, start: part(data, start, data[::-1][start:])),
    "range from the beginning": half_then(lambda data, start: part(data, start, data[: len(data) - start])),
    "another range": half_then(lambda data, start: part(data, start, Content_Range=f"bytes 7-{len(data)}/{len(data)}")),
    "range without its place": half_then(lambda data, start: part(data, start, Content_Range=None)),
    "range of another length": half_then(lambda data, start: part(data, start, Content_Range=f"bytes {start}-9/10")),
    "range not asked for": lambda data, start, _: part(data, len(data) // 2),
    "no such range": half_then(lambda data, start: [head(0, "416 Range Not Satisfiable")]),
    "stall": lambda data, start, _: [head(len(data)), data[:1000], 1.5],
    "silence": lambda data, start, _: [1.5],
    "hang-up": lambda data, start, _: [],
    "redirect in a circle": lambda data, start, _: [head(0, "302 Found", Location="/again")],
    "redirect to a file": lambda data, start, _: [head(0, "302 Found", Location="file:///etc/passwd")],
    "redirect to nonsense": lambda data, start, _: [head(0, "302 Found", Location="http://[nonsense")],
    "redirect without place": lambda data, start, _: [head(0, "302 Found")],
    "web page": lambda data, start, _: [
        head(24, Content_Type="text/html; charset=utf-8"),
        b"<html>Log in</html>\n\n\n\n\n",
    ],
    "gzip not asked for": lambda data, start, _: [
        head(len(gzip.compress(data)), Content_Encoding="gzip"),
        gzip.compress(data),
    ],
    "nothing": lambda data, start, _: [head(0)],
    "no content": lambda data, start, _: [head(None, "204 No Content")],
    "not found": lambda data, start, _: [head(0, "404 Not Found")],
    "server error": lambda data, start, _: [head(0, "500 Error")],
    "no HTTP": lambda data, start, _: [b"220 FTP ready\r\n\r\n"],
    "endless header": lambda data, start, _: [b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000],
    "many headers": lambda data, start, _: [b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 5_000],
    "endless body": lambda data, start, _: [head(), *[b"x" * 500_000] * 6],
    "an odd ETag": half_then(lambda data, start: [head(len(data), ETag='"a\r\n b\x01"'), data]),
}
WAITING = {"stall", "silence"}  # these take seconds each
UNDETECTABLE = {  # by the rules of HTTP these are whole files, and nothing is known that they contradict
    ("length too small", "nothing"),
    *(("other bytes in a range", kind) for kind in ("size", "nothing")),
    *(("range from the beginning", kind) for kind in ("size", "nothing")),
}


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.connections = {}

    def handle_error(self, *args):
        """The client may hang up."""


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        request = []
        while (line := self.rfile.readline(65_536).strip()) != b"":
            request.append(line.decode("latin-1"))
        if not request:
            return
        _, path, _ = request[0].split(" ", 2)
        fields = dict(line.lower().split(": ", 1) for line in request[1:])
        start = int(fields["range"].removeprefix("bytes=").rstrip("-")) if "range" in fields else 0
        _, kind, name = (
            path.replace("%20", " ").split("/")[:3] if path != "/again" else ("", "size", "redirect in a circle")
        )
        number = self.server.connections.get(path, 0)
        self.server.connections[path] = number + 1
        data = KINDS[kind][1]
        answer = [head(len(data)), data] if name == "good" else MISBEHAVIOURS[name](data, start, number)
        for piece in answer:
            if isinstance(piece, float):
                time.sleep(piece)
            else:
                self.wfile.write(piece)
                self.wfile.flush()


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    monkeypatch.setattr(transfer, "ATTEMPTS", 2)
    monkeypatch.setattr(transfer, "FIRST_WAIT", 0.0)
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture(scope="module")
def address():
    server = Server()
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


ATTEMPTS = [
    (fault, kind)
    for fault in MISBEHAVIOURS
    for kind in (("size", "nothing") if fault in WAITING else KINDS)
    if (fault, kind) not in UNDETECTABLE
]


@pytest.mark.parametrize(("fault", "kind"), ATTEMPTS, ids=[f"{fault}-{kind}" for fault, kind in ATTEMPTS])
def test_the_right_file_comes_or_an_error_and_nothing_half_is_left(fault, kind, address, tmp_path, monkeypatch):
    bad, good = f"{address}/{kind}/{fault.replace(' ', '%20')}", f"{address}/{kind}/good"
    known = {**KINDS[kind][0], "max_bytes": SMALL}
    places = {"mirror": None, "store": tmp_path / "store"}
    if fault in WAITING:
        monkeypatch.setattr(transfer, "TIMEOUT", 1.0)
    try:
        fetch([RemoteFile("a.tsv", "s", [bad], **known)], tmp_path / "raw", **places)
    except DownloadError as error:
        assert bad in str(error)  # noqa: PT017
        assert not (tmp_path / "raw").exists()
        assert not (tmp_path / "store" / "s" / "a.tsv").exists()
    else:
        assert (tmp_path / "raw" / "a.tsv").read_bytes() == GOOD
    fetch([RemoteFile("a.tsv", "s", [good], **known)], tmp_path / "raw", **places)
    assert (tmp_path / "raw" / "a.tsv").read_bytes() == GOOD, "what the bad server left does no harm"


def test_a_damaged_note_on_the_origin_of_a_file_is_an_error_that_names_it(address, tmp_path):
    places = {"mirror": None, "store": tmp_path / "store"}
    files = [RemoteFile("a.tsv", "s", [f"{address}/size/good"])]
    fetch(files, tmp_path / "raw", **places)
    note = tmp_path / "store" / "s" / "a.tsv.origin.json"
    for damage in ("", "{", "[]", "null", '{"origin": 3}'):
        note.write_text(damage)
        with pytest.raises(DownloadError, match=r"a.tsv is no longer what was downloaded.*a.tsv.origin.json"):
            fetch(files, tmp_path / "raw", **places)


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", '{"url": 1}', '{"url": "%s", "validator": 1}'])
def test_damaged_notes_on_a_part_make_the_download_begin_anew(damage, address, tmp_path):
    url = f"{address}/size/good"
    (tmp_path / "store" / "s").mkdir(parents=True)
    (tmp_path / "store" / "s" / "a.tsv.part").write_bytes(OTHER)
    (tmp_path / "store" / "s" / "a.tsv.part.json").write_text(damage.replace("%s", url))
    fetch([RemoteFile("a.tsv", "s", [url])], tmp_path / "raw", mirror=None, store=tmp_path / "store")
    assert (tmp_path / "raw" / "a.tsv").read_bytes() == GOOD


# ---------------------------------------------------------------------------------------------------------- archives


def tar_entry(name, size_field, *, kind=b"0", body=b""):
    """A tar header whose size field is given as bytes, with a right checksum."""
    info = tarfile.TarInfo(name)
    info.type = kind
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    block[124:136] = size_field
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + body


def in_base_256(number):
    return (number % (1 << 96)).to_bytes(12, "big")


def pax(record):
    line = f" {record}\n"
    length = len(line) + 2
    body = f"{length}{line}".encode()
    return tar_entry("pax", b"%011o\0" % len(body), kind=b"x", body=body.ljust(512, b"\0"))


END = bytes(1024)
NEGATIVE = {
    "a member": tar_entry("a.tsv", in_base_256(-512)) + END,
    "one before it": tar_entry("b", in_base_256(-1024))
    + tar_entry("a.tsv", b"%011o\0" % 3, body=b"abc".ljust(512, b"\0"))
    + END,
    "far back": tar_entry("b", in_base_256(-(10**9))) + END,
    "a long name": tar_entry("b", in_base_256(-512), kind=b"L") + tar_entry("a.tsv", b"%011o\0" % 0) + END,
    "a size in a pax header": pax("size=-512")
    + tar_entry("a.tsv", b"%011o\0" % 3, body=b"abc".ljust(512, b"\0"))
    + END,
    "too much": tar_entry("a.tsv", b"\x80" + (1 << 80).to_bytes(11, "big"), body=b"abc".ljust(512, b"\0")),
    "more than there is": tar_entry("a.tsv", b"%011o\0" % 5_000, body=b"abc".ljust(512, b"\0")),
}


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["tar", "gz"])
@pytest.mark.parametrize("data", NEGATIVE.values(), ids=NEGATIVE)
def test_a_tar_with_sizes_that_cannot_be_is_refused(data, pack, tmp_path):
    archive = tmp_path / "x.tar"
    archive.write_bytes(pack(data))
    with pytest.raises(AddressError):
        unpack(archive, "a.tsv", tmp_path / "out", SMALL)
    assert not (tmp_path / "out").exists()


PACKED = {
    "zip": (zipped(GOOD), "a.tsv"),
    "tar.gz": (rolled(GOOD), "x/a.tsv"),
    "gz": (gzip.compress(GOOD), "a.tsv"),
}


@pytest.mark.parametrize("kind", PACKED)
def test_a_damaged_archive_gives_the_right_file_or_an_error(kind, tmp_path):
    data, member = PACKED[kind]
    rng = np.random.default_rng(0)
    refused = 0
    for attempt in range(60):
        broken = bytearray(data)
        if attempt % 3 == 0:
            broken = broken[: rng.integers(1, len(broken))]
        elif attempt % 3 == 1:
            broken[rng.integers(len(broken))] ^= 1 << rng.integers(8)
        else:  # the first and the last bytes say what is where
            for place in (rng.integers(60), -1 - rng.integers(60)):
                broken[place] = rng.integers(256)
        archive, target = tmp_path / "x", tmp_path / "out"
        archive.write_bytes(bytes(broken))
        target.unlink(missing_ok=True)
        try:
            unpack(archive, member, target, SMALL)
        except AddressError:
            refused += 1
            assert not target.exists()
        else:
            assert target.read_bytes() == GOOD
    assert refused > 20
    assert {path.name for path in tmp_path.iterdir()} <= {"x", "x.rejected", "out"}


@pytest.mark.parametrize("kind", PACKED)
def test_an_archive_that_unpacks_to_too_much_is_refused(kind, tmp_path):
    data, member = PACKED[kind]
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(AddressError, match=r"longer than the [12]000 bytes allowed"):
        unpack(tmp_path / "x", member, tmp_path / "out", 1000)
    assert not (tmp_path / "out").exists()
