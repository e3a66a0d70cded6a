"""Questions on a page: in a headless browser, by hostile requests, and as the command shows it."""

import csv
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pytest

import headless
import twicetold
from twicetold.commands import _page
from twicetold.commands._page import ask_on_page
from twicetold.labels.review import Asking

EXAMPLE = Path(__file__).parents[3] / "examples/products.csv"
in_a_browser = pytest.mark.skipif(headless.MISSING is not None, reason=f"{headless.MISSING}")
READY = "return typeof shown != 'undefined' && shown !== null && !busy"


TITLES = [row["title"] for row in csv.DictReader(EXAMPLE.read_text().splitlines())]


@pytest.fixture(scope="module")
def model():
    return twicetold.fit(TITLES, lexical=True)


class Opened:
    """A page with questions, in a thread."""

    def __init__(self, file, model, texts, monkeypatch, *, count=20, beside=None):
        self.file, said = file, []
        monkeypatch.setattr(_page, "tell", said.append)
        monkeypatch.setattr(_page.webbrowser, "open", lambda address: None)
        further = beside or {}
        questions = model.questions(texts)
        self.state = Asking.begin(file, questions, range(1, len(texts) + 1), count=count, beside=further)
        self.thread = threading.Thread(target=ask_on_page, args=[self.state])
        self.thread.start()
        while not said:
            pass
        self.url = re.search(r"http://\S+", said[0])[0]
        self.host, self.token = urlsplit(self.url).netloc, urlsplit(self.url).path.strip("/")

    def send(self, path, content=None, **headers):
        connection = http.client.HTTPConnection(self.host, timeout=60)
        origin = {} if content is None else {"Origin": f"http://{self.host}"}
        names = {name: value for name, value in {**origin, **headers}.items() if value is not None}
        body = content if content is None or isinstance(content, bytes) else json.dumps(content).encode()
        connection.request("GET" if content is None else "POST", path, body, names)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.headers

    def state_of(self):
        return json.loads(self.send(f"/{self.token}/state")[1])

    def answers(self):
        return list(csv.DictReader(self.file.read_text().splitlines()))


@pytest.fixture
def opened(model, tmp_path, monkeypatch):
    pages = []

    def _opened(texts=None, **options):
        pages.append(Opened(tmp_path / "answers.csv", model, texts or TITLES, monkeypatch, **options))
        return pages[-1]

    yield _opened
    for page in pages:
        if page.thread.is_alive():
            page.send(f"/{page.token}/end", {})
        page.thread.join()


@pytest.fixture(scope="module")
def browser():
    with headless.browser() as session:
        yield session


def press(browser, keys):
    for key in keys:
        number = browser.run("return shown.number")
        browser.press(key)
        browser.until(f"{READY} && shown.number == arguments[0]", number + (-1 if key == "u" else 1))


@in_a_browser
def test_twenty_answers_by_keys_are_those_of_the_terminal_and_then_groups_can_be_corrected(
    browser, opened, model, tmp_path
):
    page = opened()
    browser.open(page.url)
    browser.until(READY)
    press(browser, keys := "ynyyn?ynnyyynynny?ny")
    questions = model.questions(TITLES)
    for key in keys:
        questions.answer(questions.next()[0], {"y": True, "n": False}.get(key))
    rows = [tuple(int(row[side]) - 1 for side in ("left", "right")) for row in page.answers()]
    assert rows == list(zip(*questions.pairs[:2], strict=True))
    assert [row["same"] for row in page.answers()] == [{"y": "1", "n": "0"}.get(key, "") for key in keys]

    groups = model.dedupe(TITLES, pairs=questions.pairs).summary.counts
    assert browser.run("return shown.groups") == [groups.groups, groups.grouped]
    for label, same in (("not the same", "0"), ("the same as", "1")):
        script = "const all = [...document.querySelectorAll('button')].filter(each => each.textContent.startsWith("
        number = browser.run("return shown.number")
        browser.run(f"{script}arguments[0])); all[0].click()", label)
        browser.until(f"{READY} && shown.number > arguments[0]", number)
        assert page.answers()[-1]["same"] == same
        questions = model.questions(TITLES, pairs=page.state.questions.pairs)
        groups = model.dedupe(TITLES, pairs=questions.pairs).summary.counts
        assert browser.run("return shown.groups") == [groups.groups, groups.grouped]

    browser.run("[...document.querySelectorAll('button')].at(-1).click()")
    browser.until("return document.body.innerText.includes('can be closed')")
    page.thread.join(10)
    with pytest.raises(ConnectionRefusedError):
        page.send(f"/{page.token}/")
    assert browser.errors() == []


@in_a_browser
def test_undo_a_reload_and_a_second_page_ask_the_same_question_and_lose_no_answer(browser, opened):
    page = opened()
    browser.open(page.url)
    browser.until(READY)
    first = browser.run("return shown.question")
    browser.press("u")
    browser.until("return document.body.innerText.includes('no answer to take back')")
    press(browser, "yyu")
    second = browser.run("return shown.question")
    browser.open(page.url)
    browser.until(READY)
    assert browser.run("return shown.question") == second
    mine, stale = browser.call("GET", "/window"), browser.run("return shown.number")
    other = browser.call("POST", "/window/new", {"type": "tab"})["handle"]
    browser.call("POST", "/window", {"handle": other})
    browser.open(page.url)
    browser.until(READY)
    press(browser, "n")
    browser.call("DELETE", "/window")
    browser.call("POST", "/window", {"handle": mine})
    browser.run("shown.number = arguments[0]; send('same', arguments[1])", stale, second["pair"])
    browser.until("return document.body.innerText.includes('answers on another page')")
    assert [row["same"] for row in page.answers()] == ["1", "0"]
    press(browser, "uu")
    assert browser.run("return shown.question") == first
    assert not page.file.exists()


@in_a_browser
def test_hostile_texts_and_one_of_ten_megabytes_are_shown_as_texts(browser, opened):
    hostile = "</script><img src=x onerror=\"document.title='in'\"><b>bold</b> \u202egnp.exe\u2066 & {{1}}"
    large = "all work and no play " + "x" * 10_000_000
    texts = [f"{hostile} one", f"{hostile} two", f"{large} first end", "all work and no play second end"]
    page = opened(texts, count=9, beside={"<i>maker</i>": ["<u>a</u>", "b\u202e", "c", "d"]})
    browser.open(page.url)
    browser.until(READY)
    seen = browser.run("return document.body.innerText")
    for _ in range(2):
        assert len(seen) < 3_000
        press(browser, "y")
        seen += browser.run("return document.body.innerText")
    assert "".join(hostile.replace("\u202e", "\ufffd").replace("\u2066", "\ufffd").split()) in "".join(seen.split())
    assert "<i>maker</i>" in seen
    assert "…" in seen
    assert "second end" in seen
    assert browser.run("return document.title") == "twicetold: questions"
    assert browser.run("return document.querySelectorAll('img, b, i:not([class]), main script').length") == 0
    assert large in page.file.read_text()
    assert browser.errors() == []
    with pytest.raises(HTTPError, match="500"):  # the page's own policy refuses what is set as HTML
        browser.run("document.body.innerHTML = '<b>in</b>'")


def test_what_does_not_come_from_the_page_is_refused_and_changes_nothing(opened):
    page = opened()
    pair, mine = page.state_of()["question"]["pair"], f"/{page.token}/"
    answer = {"answer": "same", "number": 0, "pair": pair}
    other, elsewhere = "http://evil.example", page.host.replace("127.0.0.1", "evil.example")
    refused = [
        ("/state", None, {}),
        (f"/{page.token[:-1]}/state", None, {}),
        (f"/{'x' * len(page.token)}/answer", answer, {}),
        (mine[:-1], None, {}),
        (f"http://{page.host}{mine}", None, {}),
        (f"{mine}state", None, {"Origin": other}),
        (f"{mine}answer", answer, {"Origin": other}),
        (f"{mine}answer", answer, {"Origin": "null"}),
        (f"{mine}answer", answer, {"Origin": None}),
        (f"{mine}end", {}, {"Origin": other}),
        (f"{mine}state", None, {"Host": elsewhere}),
        (f"{mine}answer", answer, {"Host": elsewhere}),
        (f"{mine}answer", answer, {"Host": elsewhere, "Origin": f"http://{elsewhere}"}),
        (f"{mine}state", None, {"Host": page.host.replace("127.0.0.1", "localhost")}),
    ]
    for path, content, headers in refused:
        status, body, _ = page.send(path, content, **headers)
        assert (status, body) == (403, "Forbidden"), (path, headers)
    wrong = [
        b"",
        b"{",
        b"[]",
        b"[" * 9_000,
        b"x" * 20_000,
        {**answer, "pair": [0, 0]},
        {**answer, "answer": "no"},
        {"number": 0},
    ]
    for content in [*wrong, {**answer, "pair": pair[0]}, {**answer, "pair": [[], {}]}, {**answer, "answer": []}]:
        assert page.send(f"{mine}answer", content)[0] == 400, content
    assert page.send(f"{mine}page.html")[0] == page.send(f"{mine}other", {})[0] == 404
    assert (page.file.exists(), page.state_of()["number"]) == (False, 0)
    status, _, headers = page.send(mine)
    policy = headers["Content-Security-Policy"]
    assert (status, "default-src 'none'" in policy, "unsafe" in policy) == (200, True, False)
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "Access-Control-Allow-Origin" not in headers


def test_a_click_against_earlier_answers_is_refused_in_words(opened):
    page = opened()
    pair = page.state_of()["question"]["pair"]
    page.state.questions.answer(page.state.question, True)
    answer = {"answer": "different", "number": 0, "pair": pair}
    said = json.loads(page.send(f"/{page.token}/answer", answer)[1])["said"]
    assert "Earlier answers say otherwise" in said
    assert not page.file.exists()


def started(tmp_path, *arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "BROWSER": "true"}
    command = [sys.executable, "-m", "twicetold", *map(str, arguments), "--browser"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment)
    url = next(match[0] for line in process.stderr if (match := re.search(r"http://\S+", line)))
    page = Opened.__new__(Opened)
    page.host, page.token = urlsplit(url).netloc, urlsplit(url).path.strip("/")
    return process, page


def test_a_dedupe_asks_on_a_page_stops_by_ctrl_c_and_the_terminal_resumes(tmp_path, twicetold):
    file, options = tmp_path / "products.csv", ("--compare", "letters", "-o", "out.csv", "--ask", 2)
    file.write_bytes(EXAMPLE.read_bytes())
    process, page = started(tmp_path, "dedupe", file.name, *options)
    pair = page.state_of()["question"]["pair"]
    page.send(f"/{page.token}/answer", {"answer": "same", "number": 0, "pair": pair})
    process.send_signal(signal.SIGINT)
    assert "1 of 1 pair answered" in process.communicate(timeout=60)[1]
    assert process.returncode == 130
    done = twicetold("ask", file.name, "--compare", "letters", "-n", 2, input="n\n")
    assert "2 of 2 pairs answered" in done.stderr
    process, page = started(tmp_path, "dedupe", file.name, *options)
    page.send(f"/{page.token}/end", {})
    assert "2 of 2 pairs answered" in process.communicate(timeout=60)[1]
    on_page = (tmp_path / "out.csv").read_text()
    twicetold("dedupe", file.name, *options[:-2], "--pairs", f"{file.name}.answers.csv")
    assert (tmp_path / "out.csv").read_text() == on_page
