"""A team's own target: read from a file, refused with a sentence, and the documentation's example as it stands."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lab import matrix, own
from lab.cells import Group
from lab.errors import UsageError
from lab.jobs import Class
from lab.paths import ROOT
from lab.targets import Addresses, Call, Promise

DOCUMENT = ROOT / "docs" / "own-target.md"
AT = Addresses("http://in", "http://ad", "http://re", "http://mo", "/kept", "")


def example(folder: Path, name: str = "agent") -> Path:
    """The files of the document, as somebody would copy them; the one that describes the target."""
    blocks = re.findall(r"```\w+\n(# (\S+)\n.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert [file for _, file in blocks] == ["agent.toml", "agent.py", "careful.toml", "careful.py"]
    for text, file in blocks:
        (folder / file).write_text(text, encoding="utf-8")
        assert sum(bool(line.strip()) for line in text.splitlines()) < (60 if file.startswith("careful") else 30)
    return folder / f"{name}.toml"


def described(folder: Path, text: str) -> Path:
    file = folder / "target.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_few_lines_are_enough(tmp_path: Path) -> None:
    target, job = own.load(described(tmp_path, 'name = "mine"\ncommand = ["./run", "{port}", "{model}", "${HOME}"]'))
    assert target.argv("127.0.0.1:7", AT) == (str(tmp_path / "run"), "7", "http://mo", "${HOME}")
    assert target.submit == Call("POST", "{worker}/runs/{run_id}", {"task": "{task}"})
    assert (target.resumes, target.promise, target.on_restate) == (True, Promise.ONCE, False)
    assert job.tool == "charge_card"


def test_a_service_on_restate_is_submitted_there_and_looked_at_in_its_tables(tmp_path: Path) -> None:
    text = 'name = "mine"\ncommand = ["run"]\nservice = "Mine"\nenv = { AT = "{receiver}" }'
    target, _ = own.load(described(tmp_path, text))
    assert target.submit.url == "{ingress}/Mine/{run_id}/run/send"
    assert target.on_restate and "Mine" in target.look.body["query"]
    assert target.env("127.0.0.1:7", AT) == {"AT": "http://re"}
    assert target.state({"rows": [{"status": "completed", "completion_result": "success"}]}) == "completed"


def test_another_tool_makes_a_job_of_its_own(tmp_path: Path) -> None:
    text = (
        'name = "mine"\ncommand = ["run"]\n[call]\ntool = "pay"\neffect = "transfer"\n'
        'arguments = { to_account = "a{tag}" }\n'
    )
    target, job = own.load(described(tmp_path, text))
    assert (job.name, job.tool, job.effect, job.kind) == ("mine-call", "pay", "transfer", Class.KEYED)
    cells = matrix.cells(own=[(target, job)])
    assert {cell.job for cell in cells if cell.group is Group.OWN} == {"mine-call"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('command = ["run"]', "name: Field required"),
        ('name = "Mine!"\ncommand = ["run"]', "name: String should match"),
        ('name = "mine"\ncommand = []', "command: must name a program"),
        ('name = "mine"\ncommand = "python3 x"', "command: must be a list of strings"),
        ('name = "mine"\ncommand = ["run", "{prt}"]', "command: there is no {prt}; there are {port}, {listen}"),
        ('name = "mine"\ncommand = ["run"]\nenv = { A = "{prt}" }', "env: there is no {prt}"),
        (
            'name = "mine"\ncommand = ["run"]\nsubmit = { method = "POST", url = "{wrker}/runs" }',
            "submit: there is no {wrker}; there are {worker}",
        ),
        (
            'name = "mine"\ncommand = ["run"]\nlook = { method = "GET", url = "http://[::1" }',
            "look: 'http://[::1' is no address: ",
        ),
        (
            'name = "mine"\ncommand = ["run"]\nlook = { method = "GET", url = "/runs/{run_id}" }',
            "look: '/runs/{run_id}' is no address; begin it with {worker}, ",
        ),
        ('name = "mine"\ncommand = ["run"]\npromise = "twice"', 'promise: must be "once", '),
        ('name = "mine"\ncommand = ["run"]\npromise = "by class"', 'promise: must be "once", '),
        ('name = "mine"\ncommand = ["run"]\nresume = true', "resume: Extra inputs are not permitted"),
        ('name = "mine', "is not TOML"),
        ('name = "m"\ncommand = ["r"]\n[call]\ntool = "p"\neffect = "e"\narguments = { a = "b" }', "must hold {tag}"),
    ],
)
def test_a_wrong_file_is_one_sentence_that_names_the_field(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as told:
        own.load(described(tmp_path, text))
    assert sentence in str(told.value)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        own.load(tmp_path / "none.toml")


def run_example(folder: Path, *more: str, name: str = "agent") -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "lab",
        "matrix",
        "--target",
        str(example(folder, name)),
        "--trials",
        "1",
        "--jobs",
        "1",
    ]
    places = ["--out", str(folder / "report"), "--dir", str(folder / "scratch")]
    return subprocess.run(
        [*command, *places, *more], cwd=ROOT, capture_output=True, text=True, timeout=110, check=False
    )


def test_the_example_of_the_document_is_killed_and_doubles_its_charge(tmp_path: Path) -> None:
    done = run_example(tmp_path, "--only", "mine/charge/no-fault,mine/charge/worker-kill/applied")
    assert done.returncode == 0, done.stdout + done.stderr
    cells = {each["id"]: each for each in json.loads((tmp_path / "report" / "report.json").read_text())["cells"]}
    assert cells["mine/charge/no-fault"]["verdict"] == "once"
    killed = cells["mine/charge/worker-kill/applied"]
    assert (killed["verdict"], killed["trials"][0]["applied"], killed["trials"][0]["model_calls"]) == (
        "duplicated",
        2,
        3,
    )


def test_the_example_that_keeps_its_key_acts_once_wherever_it_dies(tmp_path: Path) -> None:
    done = run_example(tmp_path, name="careful")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "your target as its file promises" in done.stdout
    cells = {each["id"]: each for each in json.loads((tmp_path / "report" / "report.json").read_text())["cells"]}
    assert len(cells) >= 6 and {each["verdict"] for each in cells.values()} == {"once"}
    killed = cells["careful/charge/worker-kill/applied"]["trials"][0]
    assert (killed["received"], killed["applied"]) == (2, 1)


@pytest.mark.long
def test_all_cells_of_the_example_are_as_it_promises(tmp_path: Path) -> None:
    done = run_example(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads((tmp_path / "report" / "report.json").read_text())["summary"]
    assert summary["cells"] >= 6 and summary["red"] == []
