"""Scripts end with the process that started them if that is DVC, and in one line on Ctrl-C."""

from twicetold.command_line import STAGE

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

CHILD = "import twicetold.command_line, time; print('ready', flush=True); time.sleep(60)"
PARENT = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {CHILD!r}], stdout=subprocess.PIPE, text=True)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(60)
"""


def lives(pid):
    """Whether a process runs: it is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="needs prctl")
@pytest.mark.parametrize("stage", [True, False])
def test_a_stage_ends_when_dvc_is_killed_and_a_script_by_hand_goes_on(stage):
    environment = {name: value for name, value in os.environ.items() if name != STAGE} | (
        {STAGE: "train@a"} if stage else {}
    )
    parent = subprocess.Popen([sys.executable, "-c", PARENT], env=environment, stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    end = time.monotonic() + (20 if stage else 1)
    while lives(child) and time.monotonic() < end:
        time.sleep(0.01)
    assert lives(child) is not stage
    if not stage:
        os.kill(child, signal.SIGKILL)


def test_ctrl_c_ends_in_one_line_and_by_the_signal():
    process = subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, printed = process.communicate()
    assert printed == "stopped\n"
    assert process.returncode == -signal.SIGINT  # a shell's status 130


def test_other_errors_keep_their_traceback():
    code = "import twicetold.command_line; 1 / 0"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_ctrl_c_that_a_compiled_package_turns_into_an_error_of_its_import_ends_the_program_in_one_line():
    code = "import twicetold.command_line; raise ImportError('initialization failed') from KeyboardInterrupt()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "stopped\n")


def test_ctrl_c_in_a_callback_whose_exceptions_python_ignores_ends_the_program_in_one_line():
    code = """if True:
        import twicetold.command_line, os, signal, weakref
        class Thing: pass
        thing = Thing()
        ref = weakref.ref(thing, lambda _: (os.kill(os.getpid(), signal.SIGINT), [None for _ in range(1000)]))
        del thing
        print("went on")
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "stopped\n")


def test_ctrl_c_while_a_handler_of_a_log_is_made_ends_the_program_in_one_line():
    code = """if True:
        import twicetold.command_line, logging
        half_made = logging.StreamHandler.__new__(logging.StreamHandler)
        logging.Handler.__init__(half_made)  # known to the end of the program, without a stream
        raise KeyboardInterrupt
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "stopped\n")
