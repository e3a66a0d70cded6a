"""Bad requests to a served model: status 400 and what was expected, no stack trace, and the server goes on.

To `twicetold serve`, and to MLflow's scoring server, which others may put the logged model behind.
"""

import asyncio
import io
import json
import re

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from twicetold.serving.request_tables import MAX_BYTES, MAX_ROWS
from twicetold.serving.server import BLOCK, Scoring
from twicetold.tracking import logged_model

ONE_KEY = "JSON dictionary with exactly one"
COLUMNS = "give a table with either the column `text`"
SPLIT, RECORDS = "dataframe_split", "dataframe_records"
JSON, CSV, PARQUET = "application/json", "text/csv", "application/vnd.apache.parquet"


@pytest.fixture(scope="module")
def applications(originals, tmp_path_factory):
    """Both servers' applications, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.path", list(__import__("sys").path))  # loading a model prepends its code
        from mlflow import pyfunc
        from mlflow.pyfunc import scoring_server

        saved = tmp_path_factory.mktemp("served") / "saved"
        logged_model.save(originals["static"], saved, input_example={"left": ["a"], "right": ["b"]})
        model = pyfunc.load_model(str(saved))
        scoring = Scoring(model)
        yield {"twicetold": scoring.application(), "mlflow": scoring_server.init(model)}
        scoring.stop()


def asking(application):
    def _ask(body, kind=JSON, **options):
        content = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body)
        content = content if isinstance(content, bytes) else content.encode()
        return asyncio.run(request(application, content, kind, **options))

    return _ask


@pytest.fixture(params=["twicetold", "mlflow"])
def ask(applications, request):
    """Send a body to a server; status and what it answers."""
    return asking(applications[request.param])


@pytest.fixture
def ask_ours(applications):
    """The same, to the server of `twicetold serve`."""
    return asking(applications["twicetold"])


async def request(application, body, kind, *, path="/invocations", host="127.0.0.1:5001", pieces=1, declared=True):
    sent = []
    headers = {"host": host, "content-type": kind, "content-length": str(len(body)) if declared else ""}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST" if path == "/invocations" else "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items() if value],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    size = -(-len(body) // pieces) or 1
    starts = range(0, max(len(body), 1), size)
    bodies = iter(
        [
            {"type": "http.request", "body": body[start : start + size], "more_body": start != starts[-1]}
            for start in starts
        ]
    )

    async def receive():
        return next(bodies, {"type": "http.disconnect"})

    async def send(message):
        sent.append(message)

    await application(scope, receive, send)
    status = next(message["status"] for message in sent if message["type"] == "http.response.start")
    return status, b"".join(message.get("body", b"") for message in sent).decode()


def parquet(table):
    made = io.BytesIO()
    pd.DataFrame(table).to_parquet(made)
    return made.getvalue()


def records(**columns):
    return {RECORDS: pd.DataFrame(columns).to_dict("records")}


BAD = {
    # what the model itself refuses
    "another column": (records(headline=["a"]), COLUMNS),
    "one side": (records(left=["a"]), COLUMNS),
    "the other side": (records(right=["a"]), COLUMNS),
    "both tables": (records(text=["a"], left=["a"], right=["b"]), COLUMNS),
    "no rows": ({SPLIT: {"columns": ["text"], "data": []}}, "no rows"),
    "no rows of pairs": ({SPLIT: {"columns": ["left", "right"], "data": []}}, "no rows"),
    "no columns": ({SPLIT: {"columns": [], "data": []}}, COLUMNS),
    "no records": ({RECORDS: []}, COLUMNS),
    "null": (records(text=["a", None]), "row 1 of column `text` is no text but nan"),
    "null on one side": (records(left=["a"], right=[None]), "row 0 of column `right` is no text but None"),
    "only nulls": (records(text=[None, None]), "text"),
    "a missing key": ({RECORDS: [{"left": "a", "right": "b"}, {"left": "a"}]}, "row 1 of column `right` is no text"),
    "a list": (records(text=[["a", "b"]]), "row 0 of column `text` is no text but"),
    "an object": (records(text=[{"a": 1}]), "row 0 of column `text` is no text but"),
    "a number among texts": (records(text=["a", 5]), "row 1 of column `text` is no text but 5"),
    "a truth value among texts": (records(text=["a", True]), "row 1 of column `text` is no text but True"),
    "half a character": ('{"dataframe_records": [{"text": "\\ud800"}]}', "surrogates not allowed"),
    # what MLflow refuses
    "numbers": (records(text=[1, 2]), "text"),
    "numbers with a fraction": (records(text=[1.5, 2.5]), "text"),
    "truth values": (records(text=[True]), "text"),
    "an empty body": ("", "valid JSON"),
    "blanks": ("   ", "valid JSON"),
    "no JSON": ("text=a", "valid JSON"),
    "JSON, cut": ('{"dataframe_records": [', "valid JSON"),
    "a JSON list": ([1, 2], ONE_KEY),
    "a JSON text": ('"text"', ONE_KEY),
    "JSON null": ("null", ONE_KEY),
    "an empty object": ({}, ONE_KEY),
    "another key": ({"data": [1]}, ONE_KEY),
    "two keys": (
        {RECORDS: [{"text": "a"}], SPLIT: {"columns": ["text"], "data": [["a"]]}},
        ONE_KEY,
    ),
    "columns twice": ({SPLIT: {"columns": ["text", "text"], "data": [["a", "b"]]}}, "text"),
    "no UTF-8": (b'{"dataframe_records": [{"text": "\xff"}]}', "UTF-8|utf-8"),
}
BAD_FILES = {
    "an empty CSV": ("", "text/csv", 400),
    "a CSV of another column": ("headline\na\n", "text/csv", 400),
    "a CSV with a null": ("left,right\na,\n", "text/csv", 400),
    "a CSV that is no UTF-8": (b"text\n\xff\xfe\n", "text/csv", 400),
    "no Parquet": (b"PAR1", "application/vnd.apache.parquet", 400),
    "a Parquet file of numbers": (parquet({"text": [1, 2]}), "application/vnd.apache.parquet", 400),
    "another content type": ("a", "text/plain", 415),
    "another character set": ("{}", "application/json; charset=latin-1", 415),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_request_is_status_400_and_says_what_was_expected(ask, name):
    body, expected = BAD[name]
    status, answer = ask(body)
    assert status == 400
    message = json.loads(answer)["message"]
    assert pd.Series([message]).str.contains(expected).all(), message
    for word in ("unexpected error", "Traceback", "stack_trace", "site-packages", "INTERNAL_ERROR"):
        assert word not in answer


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_refused_and_the_server_goes_on(ask, name):
    body, kind, expected = BAD_FILES[name]
    status, _ = ask(body, kind)
    assert status == expected
    assert ask(records(text=["a cat"]))[0] == 200


def test_good_requests_are_answered(ask):
    status, answer = ask(records(left=["the cat"], right=["a dog"]))
    assert (status, list(json.loads(answer)["predictions"][0])) == (200, ["score", "about", "probability", "duplicate"])
    status, answer = ask("text\nthe cat\nrain\n", "text/csv")
    assert (status, len(json.loads(answer)["predictions"])) == (200, 2)
    assert ask(records(text=["", " ", "\0", "a" * 100_000]))[0] == 200


def test_texts_for_a_model_of_pairs_alone_are_a_bad_request(monkeypatch):
    from types import SimpleNamespace

    from mlflow.exceptions import MlflowException

    from twicetold.serving.served_model import ServedModel

    def embed(texts):
        raise TypeError("MiniLmCross scores pairs only")

    served = ServedModel()
    served._model = SimpleNamespace(embed=embed)
    with pytest.raises(MlflowException, match="scores pairs only") as caught:
        served.predict(None, pd.DataFrame({"text": ["a"]}))
    assert caught.value.get_http_status_code() == 400


def unfolding(compression):
    """A Parquet file of some kilobytes, whose text of 20 MB stands in each of 4,000 rows."""
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 4_000, pa.int32()), ["x" * 20_000_000])
    made = io.BytesIO()
    pq.write_table(pa.table({"text": text}), made, compression=compression, store_schema=False)
    return made.getvalue()


def nested(depth, *, before="", after=""):
    return before + "[" * depth + "]" * depth + after


IN_INPUTS = {"before": '{"inputs": {"text": [', "after": "]}}"}
IN_ROWS = {"before": '{"dataframe_split": {"columns": ["text"], "data": [["a"],', "after": "]}}"}
OURS = {
    # these were answered with status 500 or a stack trace, or took all memory
    "JSON that is nested 100,000 deep": (nested(100_000), JSON, 400, "not nested deeply"),
    "JSON that is nested and open": ("[" * 100_000, JSON, 400, "not nested deeply"),
    "texts that are nested 100,000 deep": (nested(100_000, **IN_INPUTS), JSON, 400, "not nested deeply"),
    "texts that are nested 900 deep": (nested(900, **IN_INPUTS), JSON, 400, "no text|nested"),
    "a row that is nested 900 deep": (nested(900, **IN_ROWS), JSON, 400, "row 1 of|nested"),
    "a number of 10,000 digits": ('{"inputs": {"text": [' + "1" * 10_000 + "]}}", JSON, 400, "valid JSON"),
    "a number of 4,000 digits": ('{"inputs": {"text": [' + "1" * 4_000 + "]}}", JSON, 400, "row 0 of column `text`"),
    "an infinite number": ('{"inputs": {"text": [1e999]}}', JSON, 400, "row 0 of column `text`|string"),
    "an empty CSV": ("", CSV, 400, COLUMNS),
    "a CSV of blank lines": ("\n\n\n", CSV, 400, COLUMNS),
    "a CSV with a line of more values": ("text\na\nb,c\n", CSV, 400, "line 3"),
    "a CSV with an open quote": ('text\n"a', CSV, 400, "expected CSV in UTF-8"),
    "a CSV of a million columns": ("a," * 1_000_000, CSV, 400, COLUMNS),
    "a CSV with a line of a million values": ("text\n" + "a," * 1_000_000, CSV, 400, "line 2"),
    "no UTF-8 in a CSV": (b"text\n\xff\n", CSV, 400, "expected CSV in UTF-8"),
    "an empty Parquet file": (b"", PARQUET, 400, "expected a Parquet file"),
    "garbage as Parquet": (bytes(range(256)) * 40, PARQUET, 400, "expected a Parquet file"),
    "garbage between Parquet's marks": (b"PAR1" + bytes(1000) + b"PAR1", PARQUET, 400, "expected a Parquet file"),
    "a Parquet file, cut": (parquet({"text": ["a"]})[:-20], PARQUET, 400, "expected a Parquet file"),
    "a Parquet file that unfolds, zstd": (unfolding("zstd"), PARQUET, 400, "without compression or with SNAPPY"),
    "a Parquet file that unfolds, snappy": (unfolding("snappy"), PARQUET, 413, "several requests"),
    "a Parquet file of too many rows": (parquet({"text": ["a"] * (MAX_ROWS + 1)}), PARQUET, 413, "rows"),
    "records with a key of their own each": ({RECORDS: [{f"k{n}": 1} for n in range(MAX_ROWS)]}, JSON, 400, COLUMNS),
    "too many records": (records(text=["a"] * (MAX_ROWS + 1)), JSON, 413, f"at most {MAX_ROWS:,} rows"),
    "too many rows": ({SPLIT: {"columns": ["text"], "data": [["a"]] * (MAX_ROWS + 1)}}, JSON, 413, "rows"),
    "too many values": ({"inputs": {"text": ["a"] * (MAX_ROWS + 1)}}, JSON, 413, "rows"),
    "too many lines": ("text\n" + "a\n" * (MAX_ROWS + 1), CSV, 413, "rows"),
    "columns of other lengths": ({"inputs": {"left": ["a"], "right": ["b", "c"]}}, JSON, 400, "one length"),
    "a text for a list": ({"inputs": {"text": "abc"}}, JSON, 400, "a list of texts"),
    "a list for a table": ({SPLIT: [["a"]]}, JSON, 400, "as dataframe_split"),
    "texts for records": ({RECORDS: ["a"]}, JSON, 400, "as dataframe_records"),
    "a large body": (b" " * (MAX_BYTES + 1), JSON, 413, f"at most {MAX_BYTES:,} bytes"),
    "a parameter that is not known": ({"inputs": {"text": ["a"]}, "params": {"k": 1}}, JSON, 400, "as params"),
    "a number as a label": ({"inputs": {"text": ["a"]}, "params": {"about": 1}}, JSON, 400, "as params"),
    "no content type": ("{}", "", 415, "content type"),
}


@pytest.mark.parametrize("name", OURS)
def test_what_would_fail_or_fill_the_server_is_refused_in_words(ask_ours, name):
    body, kind, expected, words = OURS[name]
    status, answer = ask_ours(body, kind)
    assert status == expected, answer[:500]
    found = json.loads(answer)
    assert set(found) == {"error_code", "message"}
    assert re.search(words, found["message"]), found["message"]
    assert len(answer) < 3_000
    for word in ("Traceback", "stack_trace", "site-packages"):
        assert word not in answer
    assert ask_ours(records(text=["a cat"]))[0] == 200


def test_a_large_body_that_does_not_say_its_size_is_refused_once_it_is_too_large(ask_ours):
    status, answer = ask_ours(b" " * 3 * MAX_BYTES, pieces=300, declared=False)
    assert (status, f"at most {MAX_BYTES:,} bytes" in answer) == (413, True)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:5001", "127.0.0.1.evil.example", "[::2]:5001", "", "["])
@pytest.mark.parametrize("path", ["/invocations", "/ping", "/version", "/nowhere"])
def test_a_request_for_another_host_is_not_answered(ask_ours, host, path):
    status, answer = ask_ours(records(text=["a"]), host=host, path=path)
    assert status == 400
    assert "expected a request for one of 127.0.0.1, ::1, localhost" in json.loads(answer)["message"]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:5001", "localhost:80", "LOCALHOST", "[::1]:5001"])
def test_a_request_for_this_machine_is_answered(ask_ours, host):
    assert ask_ours(records(text=["a"]), host=host)[0] == 200


def test_a_request_for_a_name_that_is_allowed_is_answered():
    asks = asking(Scoring(None).application(names=["Texts.example"]))
    assert asks("", path="/ping", host="texts.example:5001")[0] == 200
    assert asks("", path="/ping", host="evil.example")[0] == 400


@pytest.mark.parametrize("name", ["texts.example:5001", "[fd00::1]:5001", "[fd00::1]", "fd00::1"])
def test_an_allowed_name_may_be_written_with_its_port(name):
    asks = asking(Scoring(None).application(names=[name]))
    host = "texts.example" if "texts" in name else "[fd00::1]"
    assert asks("", path="/ping", host=f"{host}:5001")[0] == 200
    assert asks("", path="/ping", host=host)[0] == 200
    assert asks("", path="/ping", host="evil.example:5001")[0] == 400


def test_answers_in_blocks_are_the_same_and_name_the_row(ask_ours):
    texts = [f"the cat {number}" for number in range(2 * BLOCK + 7)]
    status, answer = ask_ours(records(text=texts))
    found = json.loads(answer)["predictions"]
    assert (status, len(found)) == (200, len(texts))
    for place in (0, -1):
        alone = json.loads(ask_ours(records(text=[texts[place]]))[1])["predictions"][0]
        assert found[place]["embedding"] == pytest.approx(alone["embedding"])
    status, answer = ask_ours({RECORDS: [{"text": "a"}] * (BLOCK + 3) + [{"text": 5}]})
    assert (status, f"row {BLOCK + 3} of column `text` is no text but 5" in answer) == (400, True)


def test_all_formats_give_one_answer(ask_ours):
    table = {"left": ["the cat", 'a "dog", or two'], "right": ["a dog", "NA"]}
    rows = [[number, right, left] for number, (left, right) in enumerate(zip(*table.values()))]
    bodies = [
        (records(**table), JSON),
        ({SPLIT: {"columns": ["id", "right", "left"], "data": rows}}, JSON),
        ({"inputs": table}, JSON),
        ({"instances": records(**table)[RECORDS]}, JSON),
        (pd.DataFrame(table).to_csv(index=False), "text/csv; charset=UTF-8"),
        (parquet(table), PARQUET),
    ]
    answers = [ask_ours(body, kind) for body, kind in bodies]
    assert answers[0][0] == 200
    assert answers == [answers[0]] * len(bodies)


def test_a_fault_of_the_model_is_status_500_and_its_trace_stays_here(caplog):
    class Faulty:
        def predict(self, table, params):
            raise ZeroDivisionError("a secret of the model")

    status, answer = asking(Scoring(Faulty()).application())(records(text=["a"]))
    assert (status, "secret" in answer) == (500, False)
    assert "a secret of the model" in caplog.text
