"""The blocks of docs/python.md run, one after the other, and the programs too."""

import pathlib
import re
import subprocess
import sys

import pytest

CRATE = pathlib.Path(__file__).resolve().parent.parent
PAGE = CRATE.parent.parent / "docs" / "python.md"


def blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_the_blocks_of_the_guide(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = blocks()
    assert len(found) > 8
    # One program, as somebody would type it in. Functions of it are found by other processes.
    script = tmp_path / "guide.py"
    script.write_text("\n".join(found))
    ended = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (["cache.py", "pool"], "20 entries of an earlier run, 0 of them are over"),
        (["frontier.py", "pool", "100"], "pages are fetched, 0 wait"),
        (["counters.py", "pool", "--try"], "{'home': 600}"),
    ],
)
def test_a_program(tmp_path: pathlib.Path, program: list[str], says: str) -> None:
    output = ""
    # As often as it takes to see that what is in the pool stays.
    for _ in range(3):
        output = subprocess.run(
            [sys.executable, "-X", "dev", CRATE / "examples" / program[0], *program[1:]],
            cwd=tmp_path,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    assert says in output


def test_programs_are_short() -> None:
    for program in (CRATE / "examples").glob("*.py"):
        assert len(program.read_text().splitlines()) < 80, program
