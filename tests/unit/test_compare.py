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
    monkeypatch.setattr(compare, "section_text", lambda section: f"text: {section}")
    monkeypatch.setattr(compare, "rendered", lambda sections: f"markdown: {sections}")
    assert run(monkeypatch, capsys, "--base", "a") == "text: ('a', 'HEAD')"
    assert run(monkeypatch, capsys, "--base", "a", "--head", "b", "--markdown") == "markdown: [('a', 'b')]"
