import re

import numpy as np
import pyarrow as pa
import pytest
import typer
from hydra.utils import instantiate
from omegaconf import OmegaConf
from omegaconf.errors import MissingMandatoryValue

from twicetold import commands
from twicetold.errors import damaged, readable_errors, require, require_number


def fail(message):
    raise FileNotFoundError(message)


def test_an_expected_error_ends_with_its_message():
    with pytest.raises(SystemExit, match="error: no such column"), readable_errors():
        raise ValueError("no such column")


def test_the_message_of_an_error_that_hydra_wrapped_is_its_own(request):
    with pytest.raises(SystemExit, match=r"^error: where is it\?$"), readable_errors():
        instantiate({"_target_": f"{fail.__module__}.fail", "message": "where is it?"})


def test_a_missing_mandatory_value_is_named():
    with pytest.raises(SystemExit, match="path"), readable_errors():
        OmegaConf.create({"path": "???"}).path  # noqa: B018


@pytest.mark.parametrize("error", [MemoryError, lambda: pa.ArrowMemoryError("malloc of size 9"), None])
@pytest.mark.parametrize("errors", [readable_errors, commands.readable_errors])
def test_too_little_memory_is_one_line_that_says_what_to_do(error, errors, capsys):
    with pytest.raises((SystemExit, typer.Exit)) as caught, errors():
        if error is None:
            np.empty(1 << 60, np.int8)
        raise error()
    said = f"{caught.value}{capsys.readouterr().err}".strip()
    assert re.search(r"^(1)?error: expected more memory than there is( \(.+\))?: close other programs, or .*$", said)
    assert "\n" not in said


def test_the_way_to_the_traceback_is_named_for_what_nobody_meant_to_say_alone():
    """An error that a library raised, or Python itself, is none that a person could have caused in these words."""
    with pytest.raises(SystemExit, match=r"HYDRA_FULL_ERROR=1 to see where it came from\)$"), readable_errors():
        np.concatenate([np.ones(2), np.ones((2, 2))])
    with pytest.raises(SystemExit, match=r"HYDRA_FULL_ERROR"), readable_errors():
        len(3)
    for fails in (lambda: require(False, "no such column"), lambda: open("nowhere")):  # noqa: PTH123, SIM115
        with pytest.raises(SystemExit, match=r"^error: [^\n]+$"), readable_errors():
            fails()


@pytest.mark.parametrize("value", ["0.5", None, True, [1]])
def test_what_is_no_number_is_refused_by_the_name_of_its_option(value):
    with pytest.raises(TypeError, match=f"threshold: expected a number, got {re.escape(repr(value))} of type "):
        require_number("threshold", value)
    require_number("threshold", np.float32(0.5))
    require_number("k", np.int64(3), whole=True)
    with pytest.raises(TypeError, match=r"k: expected a whole number, got 3\.0 of type float"):
        require_number("k", 3.0, whole=True)


def test_a_bug_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError), readable_errors():
        1 / 0  # noqa: B018


def test_the_switch_shows_the_traceback(monkeypatch):
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")
    with pytest.raises(MissingMandatoryValue), readable_errors():
        OmegaConf.create({"path": "???"}).path  # noqa: B018


def test_ctrl_c_ends_with_a_word():
    with pytest.raises(SystemExit, match=r"^stopped\. run it again$"), readable_errors():
        raise KeyboardInterrupt("run it again")


def test_a_damaged_folder_is_refused_in_one_line_that_says_what_to_do():
    found = str(damaged("there", KeyError("a\nb"), what="load the model", again="train the model"))
    assert found == (
        "cannot load the model in there: KeyError: 'a\\nb'. Copy the folder again, or train the model again; if "
        "somebody else made it, do not use it"
    )
    assert "\n" not in str(damaged("there", ValueError("two\nlines"), what="read", again="write"))
    assert len(str(damaged("there", ValueError("x" * 10_000), what="read", again="write"))) < 600
