"""What the cells came to, as data for people and machines: a table, report.json, junit.xml. Pure.

Rule: a cell's verdict is that of its trials; where they differ it is the worst, and the number that agree is shown.
What cannot be told is worse than anything.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any
from xml.etree import ElementTree as ET

from lab.cells import Cell, Group, Verdict
from lab.checker import SEVERITY, Judgement, Result
from lab.jobs import Job
from lab.merging import DECISIVE, summary
from lab.published import PUBLISHED, SDK, SERVER, TITLE

SCHEMA = 1
WORST_LAST = (*SEVERITY, Verdict.INVALID)


@dataclass(frozen=True, slots=True)
class TrialResult:
    """One trial. `history` is where it is kept, below the report; `replayed` why it had to be played a second time."""

    number: int
    seed: int
    judgement: Judgement
    recovered_s: float | None
    history: str
    replayed: str | None = None


@dataclass(frozen=True, slots=True)
class CellResult:
    cell: Cell
    title: str
    job: Job
    trials: tuple[TrialResult, ...]

    @property
    def verdict(self) -> Verdict:
        return max((trial.judgement.verdict for trial in self.trials), key=WORST_LAST.index)

    @property
    def agree(self) -> int:
        """How many trials came to the cell's verdict."""
        return sum(trial.judgement.verdict is self.verdict for trial in self.trials)

    @property
    def result(self) -> Result:
        seen = {trial.judgement.result for trial in self.trials}
        for worst in (Result.CANNOT_TELL, Result.NOT_AS_PROMISED):
            if worst in seen:
                return worst
        return Result.AS_PROMISED

    @property
    def findings(self) -> tuple[str, ...]:
        """Each sentence once."""
        return tuple(dict.fromkeys(each for trial in self.trials for each in trial.judgement.findings))

    @property
    def recovered_s(self) -> float | None:
        """The median over the trials that say it."""
        told = [trial.recovered_s for trial in self.trials if trial.recovered_s is not None]
        return median(told) if told else None

    def counted(self, name: str) -> str:
        """One of the counts over the trials: a number, or the least and the most."""
        told = [value for trial in self.trials if (value := getattr(trial.judgement.counts, name)) is not None]
        if not told:
            return "-"
        return str(told[0]) if min(told) == max(told) else f"{min(told)}-{max(told)}"


def red(results: Iterable[CellResult]) -> list[CellResult]:
    """The cells that must be as promised and are not, or cannot be told."""
    return [each for each in results if each.cell.group in DECISIVE and each.result is not Result.AS_PROMISED]


def report(results: Sequence[CellResult], about: Mapping[str, Any]) -> dict[str, Any]:
    """report.json. `about` is what is known of the machine and the versions, and when it ran."""
    cells = [_cell(each) for each in results]
    return {
        "schema": SCHEMA,
        **about,
        "summary": summary(cells),
        "published": _published(results),
        "cells": cells,
    }


def _cell(of: CellResult) -> dict[str, Any]:
    return {
        "id": of.cell.id,
        "group": of.cell.group.value,
        "target": of.cell.target,
        "title": of.title,
        "tool": of.job.tool,
        "class": of.job.kind.value,
        "job": of.cell.job,
        "fault": of.cell.fault.value,
        "point": of.cell.point.value,
        "expected": sorted(verdict.value for verdict in of.cell.expected),
        "verdict": of.verdict.value,
        "result": of.result.value,
        "agree": of.agree,
        "recovered_s": of.recovered_s,
        "trials": [_trial(trial) for trial in of.trials],
    }


def _trial(trial: TrialResult) -> dict[str, Any]:
    counts = trial.judgement.counts
    return {
        "trial": trial.number,
        "seed": trial.seed,
        "verdict": trial.judgement.verdict.value,
        "result": trial.judgement.result.value,
        "model_calls": counts.model_calls,
        "received": counts.received,
        "applied": counts.applied,
        "recovered_s": trial.recovered_s,
        "findings": list(trial.judgement.findings),
        "history": trial.history,
        "replayed": trial.replayed,
    }


def _published(results: Sequence[CellResult]) -> dict[str, Any]:
    """The published scenarios beside what was counted here."""
    found = {(each.cell.target, each.cell.fault, each.cell.point): each for each in results if _is_published(each)}
    rows = []
    for scenario in PUBLISHED:
        here = found.get((scenario.target, scenario.fault, scenario.point))
        rows.append(
            {
                "scenario": scenario.label,
                "cell": here.cell.id if here else None,
                "told": {
                    "model_calls": scenario.told.model_calls,
                    "received": scenario.told.received,
                    "applied": scenario.told.applied,
                },
                "counted": {
                    name: here.counted(name) if here else "-" for name in ("model_calls", "received", "applied")
                },
                "agree": f"{here.agree} of {len(here.trials)}" if here else "-",
            }
        )
    return {"title": TITLE, "server": SERVER, "sdk": SDK, "rows": rows}


def _is_published(result: CellResult) -> bool:
    return result.cell.group is Group.PUBLISHED


def junit(told: Mapping[str, Any]) -> str:
    """junit.xml from a report: one test for each cell, one suite for each group. What cannot be told is an error."""
    root = ET.Element("testsuites", name="lab matrix", time=f"{told['seconds']:.1f}")
    for group in Group:
        members = [cell for cell in told["cells"] if cell["group"] == group]
        if not members:
            continue
        suite = ET.SubElement(root, "testsuite", name=group.value, tests=str(len(members)))
        suite.set("failures", str(sum(cell["result"] == Result.NOT_AS_PROMISED for cell in members)))
        suite.set("errors", str(sum(cell["result"] == Result.CANNOT_TELL for cell in members)))
        for cell in members:
            case = ET.SubElement(suite, "testcase", classname=cell["target"], name=cell["id"])
            case.set("time", f"{cell['recovered_s'] or 0:.2f}")
            if cell["result"] != Result.AS_PROMISED:
                kind = "error" if cell["result"] == Result.CANNOT_TELL else "failure"
                expected = " or ".join(cell["expected"])
                bad = ET.SubElement(case, kind, message=f"{cell['verdict']} in place of {expected}")
                findings = dict.fromkeys(each for trial in cell["trials"] for each in trial["findings"])
                bad.text = "\n".join(printable(finding) for finding in findings)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def printable(text: str) -> str:
    """Without the control characters that XML does not allow."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "?" for sign in text)
