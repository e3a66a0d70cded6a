import gzip
import hashlib
import io
import json
import os
import stat
import tarfile
import threading
import zipfile
from dataclasses import asdict, dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from twicetold import layout
from twicetold_lab.data import transfer
from twicetold_lab.data.archives import Content
from twicetold_lab.data.download import DownloadError, Installed, RemoteFile, fetch

DATA = bytes(range(256)) * 4096  # 1 MiB
SHA = hashlib.sha256(DATA).hexdigest()


@dataclass
class Served:
    """What the loopback server gives, and what it was asked for."""

    address: str = ""
    files: dict = field(default_factory=lambda: {"/a.bin": DATA})
    cut_after: list = field(default_factory=list)  # bytes to send before each cut, one per request
    etag: str = '"one"'
    ranges: bool = True
    status: dict = field(default_factory=dict)
    asked: list = field(default_factory=list)

    def file(self, name="a.bin", **known):
        return RemoteFile(name, "s", [f"{self.address}/{name}"], **known)


@pytest.fixture
def web(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    served = Served()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            served.asked.append((self.path, self.headers.get("Range")))
            wrong = served.status.get(self.path)
            if wrong or self.path not in served.files:
                return self.send_error(wrong or 404)
            data, start = served.files[self.path], 0
            if served.ranges and self.headers.get("Range") and self.headers.get("If-Range") == served.etag:
                start = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
                if start >= len(data):
                    return self.send_error(416)
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
            else:
                self.send_response(200)
            self.send_header("Content-Length", str(len(data) - start))
            self.send_header("ETag", served.etag)
            self.end_headers()
            until = start + served.cut_after.pop(0) if served.cut_after else len(data)
            self.wfile.write(data[start:until])

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    served.address = f"http://127.0.0.1:{server.server_port}"
    yield served
    server.shutdown()
    server.server_close()


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The raw folder and the store, as keyword arguments of `fetch`."""
    monkeypatch.setattr(transfer, "FIRST_WAIT", 0.0)
    return {"folder": tmp_path / "raw", "store": tmp_path / "store"}


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    return buffer.getvalue()


def test_a_file_comes_from_its_public_address_with_a_manifest(web, place):
    url = f"{web.address}/a.bin"
    (record,) = fetch([RemoteFile("a.bin", "s", [url], size=len(DATA), sha256=SHA)], mirror=None, **place)
    assert (place["folder"] / "a.bin").read_bytes() == DATA
    assert (record.origin, record.size, record.sha256, record.lines) == (url, len(DATA), SHA, DATA.count(b"\n") + 1)
    manifest = (place["folder"] / layout.MANIFEST).read_text()
    assert json.loads(manifest) == {"files": [asdict(record)]}
    assert str(place["folder"].parent) not in manifest


def test_a_cut_connection_resumes_where_it_was_cut(web, place):
    web.cut_after = [300_000, 200_000]
    fetch([web.file(sha256=SHA)], mirror=None, **place)
    assert (place["folder"] / "a.bin").read_bytes() == DATA
    assert web.asked == [("/a.bin", None), ("/a.bin", "bytes=300000-"), ("/a.bin", "bytes=500000-")]


def test_a_later_run_resumes_what_an_earlier_one_left(web, place, monkeypatch):

    def interrupt(*args):
        raise KeyboardInterrupt

    web.cut_after = [300_000]
    monkeypatch.setattr(transfer.time, "sleep", interrupt)
    files = [web.file()]
    with pytest.raises(KeyboardInterrupt):
        fetch(files, mirror=None, **place)
    assert not place["folder"].exists()
    fetch(files, mirror=None, **place)
    assert web.asked[-1] == ("/a.bin", "bytes=300000-")
    assert (place["folder"] / "a.bin").read_bytes() == DATA


def test_a_part_of_a_file_that_has_changed_is_thrown_away(web, place, monkeypatch):
    web.cut_after = [300_000]
    new = DATA[::-1]

    def change(_):
        web.files["/a.bin"], web.etag = new, '"two"'

    monkeypatch.setattr(transfer.time, "sleep", change)
    fetch([web.file()], mirror=None, **place)
    assert (place["folder"] / "a.bin").read_bytes() == new


def test_a_busy_server_is_asked_again_and_a_missing_page_is_not(web, place):
    web.status["/busy"] = 503
    urls = [f"{web.address}/busy", f"{web.address}/gone"]
    with pytest.raises(DownloadError, match="HTTP 503"):
        fetch([RemoteFile("a.bin", "s", urls)], mirror=None, **place)
    assert [path for path, _ in web.asked] == ["/busy"] * transfer.ATTEMPTS + ["/gone"]


@pytest.mark.parametrize(("expected", "what"), [({"sha256": "0" * 64}, "sha256"), ({"size": 5}, "size")])
def test_a_file_that_is_not_what_was_expected_is_set_aside(web, place, expected, what):
    with pytest.raises(DownloadError, match=f"wrong {what}: expected"):
        fetch([web.file(**expected)], mirror=None, **place)
    assert not place["folder"].exists()
    assert [path.name for path in (place["store"] / "s").iterdir()] == ["a.bin.rejected"]


def test_a_file_whose_content_is_not_what_was_expected_is_set_aside_and_the_next_address_is_used(web, place):
    web.files |= {"/login": b"<html>\nLog in\n</html>\n", "/a.tsv": b"a\tb\n1\t2\n"}
    urls = [f"{web.address}/login", f"{web.address}/a.tsv"]
    file = RemoteFile("a.tsv", "s", urls, content=Content(first_line="a\tb$", lines=(2, 2), columns=(2, 2)))
    (record,) = fetch([file], mirror=None, **place)
    assert record.origin == urls[1]
    assert (place["store"] / "s" / "a.tsv.rejected").read_bytes() == web.files["/login"]


def test_a_file_from_a_mirror_or_put_there_by_hand_is_not_checked_for_content(place, tmp_path):
    (place["store"] / "s").mkdir(parents=True)
    (place["store"] / "s" / "b.bin").write_text("a part\n")
    files = [RemoteFile(name, "s", content=Content(lines=(1000, 1000))) for name in ("a.bin", "b.bin")]
    records = fetch(files, mirror=mirror_folder(tmp_path, b"a part\n"), **place)
    assert [record.origin for record in records] == ["mirror", "store"]


def test_too_long_a_file_is_refused(web, place):
    with pytest.raises(DownloadError, match="1048576 bytes are announced, more than the 1000 allowed"):
        fetch([web.file(max_bytes=1000)], mirror=None, **place)


def test_a_second_dataset_of_the_source_downloads_nothing(web, place):
    files = [web.file()]
    first = fetch(files, mirror=None, **place)
    second = fetch(files, mirror=None, **(place | {"folder": place["folder"].with_name("other")}))
    assert first == second
    assert len(web.asked) == 1


def test_the_raw_folder_shares_no_file_with_the_store(web, place):
    files = [web.file()]
    fetch(files, mirror=None, **place)
    (place["folder"] / "a.bin").write_bytes(b"edited")
    fetch(files, mirror=None, **place)
    assert (place["folder"] / "a.bin").read_bytes() == DATA


def test_a_downloaded_file_that_was_changed_in_the_store_is_an_error(web, place):
    files = [web.file()]
    fetch(files, mirror=None, **place)
    (place["store"] / "s" / "a.bin").write_bytes(b"changed")
    with pytest.raises(DownloadError, match="no longer what was downloaded"):
        fetch(files, mirror=None, **place)


def test_without_network_or_mirror_the_error_names_file_addresses_and_both_ways_out(place, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    url = "http://127.0.0.1:9/a.bin"
    with pytest.raises(DownloadError) as caught:
        fetch([RemoteFile("a.bin", "s", [url])], mirror=None, **place)
    message = str(caught.value)
    assert all(part in message for part in ("'a.bin' of s", url, "refused", "TWICETOLD_MIRROR", "s/a.bin"))
    assert str(place["store"] / "s") in message
    assert not place["folder"].exists()


def test_a_file_put_into_the_store_by_hand_is_taken(place):
    (place["store"] / "s" / "deep").mkdir(parents=True)
    (place["store"] / "s" / "deep" / "a.tsv").write_text("x\ny\n")
    (record,) = fetch([RemoteFile("deep/a.tsv", "s")], mirror=None, **place)
    assert (record.origin, record.lines) == ("store", 2)
    assert (place["folder"] / "deep" / "a.tsv").read_text() == "x\ny\n"


def test_an_address_that_failed_is_not_asked_again_for_another_file_of_its_archive(web, place):
    web.files["/y.zip"] = zipped(one=b"1", two=b"2")
    urls = [f"{web.address}/x.zip", f"{web.address}/y.zip"]
    fetch([RemoteFile(name, "s", urls, member=name) for name in ("one", "two")], mirror=None, **place)
    assert [path for path, _ in web.asked] == ["/x.zip", "/y.zip"]


@pytest.fixture
def packaged(tmp_path, monkeypatch):
    """A file of an installed package, which fails when it is imported."""
    package = tmp_path / "site" / "vectors_in_a_wheel"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit")
    (package / "a.bin").write_bytes(DATA)
    monkeypatch.syspath_prepend(str(package.parent))
    installed = Installed("vectors_in_a_wheel", "a.bin", "static")
    return lambda **changed: RemoteFile("b.bin", "s", sha256=SHA, installed=replace(installed, **changed))


def test_a_file_of_an_installed_package_is_copied_under_the_name_that_is_wanted(place, packaged, tmp_path):
    (record,) = fetch([packaged()], mirror=str(tmp_path), **place)
    assert (record.name, record.origin) == ("b.bin", "package vectors_in_a_wheel")
    assert (place["folder"] / "b.bin").read_bytes() == DATA


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"package": "not_installed_here"}, r"which is not installed: pip install '\.\[static\]' in a checkout"),
        ({"path": "gone.bin"}, "the installed package vectors_in_a_wheel, which has no file gone.bin"),
        ({"path": "__init__.py"}, "wrong sha256: .*; install another version"),
    ],
)
def test_a_package_that_is_missing_or_has_other_files_is_named(place, packaged, changed, reason):
    with pytest.raises(DownloadError, match=reason):
        fetch([packaged(**changed)], mirror=None, **place)


@pytest.fixture
def replaceable(web):
    """Two files at addresses that have nothing, and one with an address that can replace them."""
    parts = [RemoteFile(name, "s", [f"{web.address}/{name}"]) for name in ("one", "two")]
    return [*parts, RemoteFile("both", "s", [f"{web.address}/both"], instead_of=["one", "two"])]


def test_a_file_replaces_others_when_one_of_them_cannot_be_had(web, place, replaceable):
    web.files |= {"/one": b"1", "/both": b"12"}
    manifest = fetch(replaceable, mirror=None, **place)
    assert [record.name for record in manifest] == ["both"]
    assert {path.name for path in place["folder"].iterdir()} == {"both", layout.MANIFEST}
    fetch(replaceable, mirror=None, **place)
    assert [path for path, _ in web.asked] == ["/one", "/two", "/both"], "what the store has is looked for first"


def test_a_file_that_can_replace_others_is_not_fetched_without_need(web, place, replaceable):
    web.files |= {"/one": b"1", "/two": b"2", "/both": b"12"}
    assert [record.name for record in fetch(replaceable, mirror=None, **place)] == ["one", "two"]
    assert "/both" not in [path for path, _ in web.asked]


def test_without_any_of_them_the_error_names_all_addresses_and_both_files(web, place, replaceable):
    with pytest.raises(DownloadError) as caught:
        fetch(replaceable, mirror=None, **place)
    message = str(caught.value)
    assert all(part in message for part in ("'one' of s", "/one: HTTP 404", "/both: HTTP 404", "both there would do"))
    assert not place["folder"].exists()


def test_a_file_cannot_replace_one_that_is_not_wanted(place):
    with pytest.raises(ValueError, match=r"both is to replace \['three'\], but the files are \['both', 'one'\]"):
        fetch([RemoteFile("one", "s"), RemoteFile("both", "s", instead_of=["three"])], mirror=None, **place)


def test_an_optional_file_that_cannot_be_had_is_left_out(place):
    manifest = fetch([RemoteFile("a.tsv", "s", optional=True)], mirror=None, **place)
    assert manifest == []
    assert [path.name for path in place["folder"].iterdir()] == [layout.MANIFEST]


def test_a_failed_fetch_leaves_the_folder_as_it_was(place, tmp_path):
    place["folder"].mkdir()
    (place["folder"] / "old").write_text("old")
    (tmp_path / "mirror" / "s").mkdir(parents=True)
    (tmp_path / "mirror" / "s" / "there").write_text("x")
    with pytest.raises(DownloadError):
        files = [RemoteFile("there", "s"), RemoteFile("missing", "s")]
        fetch(files, mirror=str(tmp_path / "mirror"), **place)
    assert [path.name for path in place["folder"].iterdir()] == ["old"]
    assert {path.name for path in tmp_path.iterdir()} == {"raw", "mirror"}


def mirror_folder(tmp_path, data, sums=None):
    (tmp_path / "mirror" / "s").mkdir(parents=True)
    (tmp_path / "mirror" / "s" / "a.bin").write_bytes(data)
    if sums:
        (tmp_path / "mirror" / "SHA256SUMS").write_text(f"{sums}  s/a.bin\n")
    return str(tmp_path / "mirror")


def test_the_mirror_comes_first_and_may_hold_a_subset(web, place, tmp_path):
    mirror = mirror_folder(tmp_path, b"less\n", hashlib.sha256(b"less\n").hexdigest())
    file = web.file(size=len(DATA), sha256=SHA)
    (record,) = fetch([file], mirror=mirror, **place)
    assert (record.origin, record.size) == ("mirror", 5)
    assert web.asked == []


def test_a_mirror_file_that_its_checksums_do_not_list_so_is_an_error(place, tmp_path):
    mirror = mirror_folder(tmp_path, b"damaged", "0" * 64)
    with pytest.raises(DownloadError, match="not the file that the mirror's SHA256SUMS lists"):
        fetch([RemoteFile("a.bin", "s")], mirror=mirror, **place)


def test_what_the_mirror_lacks_comes_from_the_public_address(web, place, tmp_path):
    web.files["/b.bin"] = DATA
    file = web.file("b.bin")
    (record,) = fetch([file], mirror=mirror_folder(tmp_path, b"x"), **place)
    assert record.origin == file.urls[0]


def test_members_of_one_archive_are_unpacked_from_one_download(web, place):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as rolled:
        for name in ("x/one", "x/two"):
            info = tarfile.TarInfo(name)
            info.size = 3
            rolled.addfile(info, io.BytesIO(name[-3:].encode()))
    web.files["/x.tar.gz"] = buffer.getvalue()
    urls = [f"{web.address}/x.tar.gz"]
    fetch([RemoteFile(n, "s", urls, member=f"x/{n}") for n in ("one", "two")], mirror=None, **place)
    assert [(place["folder"] / n).read_text() for n in ("one", "two")] == ["one", "two"]
    assert len(web.asked) == 1


def test_a_file_packed_by_itself_is_unpacked(web, place):
    web.files["/a.tsv.gz"] = gzip.compress(b"x\ty\n")
    fetch([RemoteFile("a.tsv", "s", [f"{web.address}/a.tsv.gz"], member="a.tsv")], mirror=None, **place)
    assert (place["folder"] / "a.tsv").read_text() == "x\ty\n"


def test_an_archive_with_paths_that_escape_writes_the_named_member_and_nothing_else(web, place, tmp_path):
    web.files["/x.zip"] = zipped(**{"../../evil": b"evil", "/abs": b"evil", "good": b"good"})
    fetch([RemoteFile("good", "s", [f"{web.address}/x.zip"], member="good")], mirror=None, **place)
    written = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert not {"evil", "abs"} & written
    assert (place["folder"] / "good").read_text() == "good"


def linked_zip():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        info = zipfile.ZipInfo("link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        packed.writestr(info, "/etc/passwd")
    return buffer.getvalue()


def linked_tar(kind):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as rolled:
        info = tarfile.TarInfo("link")
        info.type, info.linkname = kind, "/etc/passwd"
        rolled.addfile(info)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (linked_zip(), "is a link or a folder"),
        (linked_tar(tarfile.SYMTYPE), "is a link or a folder"),
        (linked_tar(tarfile.LNKTYPE), "is a link or a folder"),
        (zipped(other=b"x"), r"no member 'link', but \['other'\]"),
        (b"<html>Log in to the network</html>", "neither a zip nor a tar"),
        (zipped(link=os.urandom(5000))[:3000], "neither a zip nor a tar"),
    ],
)
def test_archives_without_the_regular_member_are_refused(web, place, data, message):
    web.files["/x"] = data
    with pytest.raises(DownloadError, match=message):
        fetch([RemoteFile("link", "s", [f"{web.address}/x"], member="link")], mirror=None, **place)


@pytest.mark.parametrize("name", ["../x", "/x", "", "a/../../x", "a\\b"])
def test_names_that_lead_out_of_the_folder_are_refused(name):
    with pytest.raises(ValueError, match="no relative path"):
        RemoteFile(name, "s")


def test_addresses_that_are_not_http_are_refused():
    with pytest.raises(ValueError, match="http"):
        RemoteFile("a", "s", ["file:///etc/passwd"])
