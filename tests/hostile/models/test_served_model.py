"""Bad requests to a logged model behind MLflow's server: status 400, what was expected, no stack trace."""

import asyncio
import io
import json
import sys

import pandas as pd
import pytest

from twicetold_lab.tracking import logged_model

ONE_KEY = "JSON dictionary with exactly one"
COLUMNS = "give a table with either the column `text`"
SPLIT, RECORDS = "dataframe_split", "dataframe_records"


@pytest.fixture(scope="module")
def application(originals, tmp_path_factory):
    """The application of `mlflow models serve`, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.path", list(sys.path))  # loading a model prepends its code
        from mlflow import pyfunc
        from mlflow.pyfunc import scoring_server

        saved = tmp_path_factory.mktemp("served") / "saved"
        logged_model.save(originals["static"], saved, input_example={"left": ["a"], "right": ["b"]})
        yield scoring_server.init(pyfunc.load_model(str(saved)))


@pytest.fixture
def ask(application):
    """Send a body to the server; status and what it answers."""

    def _ask(body, kind="application/json"):
        content = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body)
        content = content if isinstance(content, bytes) else content.encode()
        return asyncio.run(request(application, content, kind))

    return _ask


async def request(application, body, kind):
    sent = []
    headers = {"host": "127.0.0.1:5001", "content-type": kind, "content-length": str(len(body))}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/invocations",
        "raw_path": b"/invocations",
        "query_string": b"",
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    bodies = iter([{"type": "http.request", "body": body, "more_body": False}])

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

    from twicetold_lab.tracking.served_model import ServedModel

    def embed(texts):
        raise TypeError("MiniLmCross scores pairs only")

    served = ServedModel()
    served._model = SimpleNamespace(embed=embed)
    with pytest.raises(MlflowException, match="scores pairs only") as caught:
        served.predict(None, pd.DataFrame({"text": ["a"]}))
    assert caught.value.get_http_status_code() == 400
