"""`pipelines/compare.py`: what it asks for and prints."""

import sys

import pytest

import compare


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["compare.py", *arguments])
    compare.main()
    return capsys.readouterr().out


def test_without_a_base_there_is_nothing_to_compare_with(monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, capsys, "--head", "HEAD")
    assert "--base" in capsys.readouterr().err


def test_revisions_are_compared_in_text_or_markdown(monkeypatch, capsys):
    monkeypatch.setattr(compare, "compare_revisions", lambda base, head: (base, head))
    for name in ("as_text", "as_markdown"):
        monkeypatch.setattr(compare, f"revisions_{name}", lambda found, name=name: f"{name}: {found}")
    assert run(monkeypatch, capsys, "--base", "a") == "as_text: ('a', 'HEAD')"
    assert run(monkeypatch, capsys, "--base", "a", "--head", "b", "--markdown") == "as_markdown: ('a', 'b')"
