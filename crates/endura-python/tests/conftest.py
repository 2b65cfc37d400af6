"""What all tests share: a path for a pool, programs in processes of their own, and the settings of Hypothesis.

``ENDURA_EXAMPLES`` is the number of examples of each state machine, and a tenth of it multiplies the rounds of the other
long tests. Without it the suite takes a minute.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap

import endura
import hypothesis
import pytest

EXAMPLES = int(os.environ.get("ENDURA_EXAMPLES", "10"))

hypothesis.settings.register_profile(
    "endura",
    max_examples=EXAMPLES,
    stateful_step_count=40,
    deadline=None,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
)
hypothesis.settings.load_profile("endura")


# A shell without job control lets the commands that it starts in the background ignore interrupts, and so would the programs
# that these tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def rounds():
    """How often a long test does what it does, for one time of a short run."""
    return max(1, EXAMPLES // 10)


@pytest.fixture
def folder():
    """A folder in memory, where closing a pool costs nothing."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="endura-", dir=memory) as folder:
        yield pathlib.Path(folder)


@pytest.fixture
def path(folder):
    return folder / "pool"


@pytest.fixture
def pool(path):
    with endura.open(path) as pool:
        yield pool


def stacks_of(process):
    """Where its threads are: in the kernel, with the hundredths of a second that they ran, and in the program where there is a
    debugger."""
    tasks = pathlib.Path(f"/proc/{process.pid}/task")
    ran = lambda task: (task / "stat").read_text().rsplit(")", 1)[1].split()[11:13]
    found = [f"{task.name}: {(task / 'wchan').read_text()} {ran(task)}" for task in tasks.iterdir()]
    if gdb := shutil.which("gdb"):
        how = [gdb, "-p", str(process.pid), "-batch", "-ex", "thread apply all backtrace 40"]
        found.append(subprocess.run(how, capture_output=True, text=True, timeout=60).stdout)
    return "\n".join(found)


class Program:
    """A program of Python in a process of its own, which finds the pool's path in ``path``."""

    def __init__(self, path):
        self.path = path

    def start(self, text, *options, **popen):
        text = f"import endura, os, sys\npath = {str(self.path)!r}\n" + textwrap.dedent(text)
        popen = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | popen
        return subprocess.Popen([sys.executable, "-X", "faulthandler", *options, "-c", text], **popen)

    def end(self, text, *options, **popen):
        """The process, its output and its errors, when it has ended; fails if it does not in time."""
        process = self.start(text, *options, **popen)
        try:
            return process, *process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            stacks = stacks_of(process)
            # `faulthandler` writes where all threads are in Python.
            process.send_signal(signal.SIGABRT)
            try:
                said = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                said = process.communicate()
            pytest.fail(f"did not end: {said}\n{stacks}")

    def run(self, text, *options, code=0, **popen):
        """Its output; fails if it does not end with ``code``."""
        process, out, err = self.end(text, *options, **popen)
        assert process.returncode == code, f"ended with {process.returncode}:\n{out}\n{err}"
        return out

    def fails(self, text, *options):
        """What it writes to its standard error; fails if it does not end by an exception."""
        process, out, err = self.end(text, *options)
        assert process.returncode == 1, f"ended with {process.returncode}:\n{out}\n{err}"
        return err


@pytest.fixture
def program(path):
    return Program(path)
