"""The report's page: from data only, without a network, and with a word for whatever colour says."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from lab import history, pages
from lab.cells import Verdict
from lab.errors import LabError, UsageError
from lab.history import Event, History, Landing, Ledger, RunSeen
from lab.page import Data, page
from lab.page_style import COLOURS
from lab.page_timeline import marks, timeline
from lab.show import Show
from mocks.rows import ModelRow, RequestRow

VOID = {"meta", "br", "img", "circle", "line", "rect", "polyline"}


class Reader(HTMLParser):
    """Text, ids and links; raises where a tag is closed that is not open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if told.get("id"):
            self.ids.append(str(told["id"]))
        if told.get("href"):
            self.links.append(str(told["href"]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    assert reader.open == []
    return reader


def cell(name: str, group: str = "pawl", verdict: str = "once", result: str = "as promised") -> dict[str, Any]:
    target, job, fault, point = name.split("/")
    trial = {
        "trial": 1,
        "seed": 1,
        "verdict": verdict,
        "result": result,
        "model_calls": 2,
        "received": 2,
        "applied": 1,
        "recovered_s": 1.25,
        "findings": ["a finding with <b>marks</b>"] if result != "as promised" else [],
        "history": f"histories/{name.replace('/', '_')}/trial-1.json",
        "replayed": None,
    }
    return {
        "id": name,
        "group": group,
        "target": target,
        "title": target.title(),
        "tool": "charge_card",
        "class": "keyed",
        "job": job,
        "fault": fault,
        "point": point,
        "expected": ["once"],
        "verdict": verdict,
        "result": result,
        "agree": 1,
        "recovered_s": 1.25,
        "trials": [trial],
    }


def report(*cells: dict[str, Any], red: tuple[str, ...] = ()) -> dict[str, Any]:
    told = {"model_calls": None, "received": 2, "applied": 1}
    row = {
        "scenario": "keyed, killed after the effect",
        "cell": cells[0]["id"] if cells else None,
        "told": told,
        "counted": {"model_calls": "3", "received": "2", "applied": "1"},
        "agree": "1 of 1",
    }
    return {
        "schema": 1,
        "started_at": 1_795_979_107.5,
        "seconds": 12.0,
        "seed": 1,
        "versions": {"restate_server": "1.7.12", "restate-sdk": "1.3.0"},
        "machine": {"system": "Linux", "processors": 2},
        "left_out": [],
        "summary": {"cells": len(cells), "trials": len(cells), "as_promised": len(cells) - len(red), "red": list(red)},
        "published": {"server": "restate-server 1.7.13", "sdk": "TypeScript SDK 1.17.2", "rows": [row]},
        "cells": list(cells),
    }


KILL = "pawl/charge/worker-kill/applied"


def seen(name: str = KILL) -> History:
    requests = tuple(
        RequestRow(
            n=n,
            effect="charge",
            key="key-1234-5678",
            reference=None,
            digest="",
            applied=n == 1,
            status=None if n == 1 else 201,
            at=100.0 + n,
            method="POST",
            path="/charges",
        )
        for n in (1, 2)
    )
    model = (
        ModelRow(n=1, at=100.5, script="charge", turn=0, status=200, messages=2, digest="", bytes=10),
        ModelRow(n=2, at=100.6, script="sms", turn=0, status=200, messages=2, digest="", bytes=10),
    )
    return History(
        cell=name,
        job="charge",
        trial=1,
        seed=1,
        started_at=100.0,
        strikes=1,
        runs=(RunSeen("lab-charge-t1", "t1", "completed", rested=True),),
        landings=(Landing(101.5, "worker killed", "the receiver has applied it"),),
        events=(
            Event(100.1, "run", "submitted", "lab-charge-t1"),
            Event(101.5, "worker", "killed", "SIGKILL to pid 7"),
            Event(101.9, "worker", "started", "pid 8 serves"),
            Event(103.0, "lab", "done"),
        ),
        ledger=Ledger(model, requests, ()),
        beside=("t2",),
    )


WINDOW = {
    "says": "The window.",
    "estimate": "Derived.",
    "series": [
        {
            "name": "one at a time",
            "effects": 3,
            "median_ms": 0.5,
            "p95_ms": 0.9,
            "max_ms": 1.0,
            "worker": {"median_ms": 0.2, "p95_ms": 0.3, "max_ms": 0.4},
            "doubled_per_1000": 12.5,
            "samples_ms": [0.4, 0.5, 1.0],
        }
    ],
}
STORM: dict[str, Any] = {
    "runs": 50,
    "seed": 2,
    "storm_s": 30.0,
    "again": "python -m lab storm --runs 50 --seed 2",
    "good": True,
    "completed": 47,
    "hit": 50,
    "repeated": 17,
    "requests": 212,
    "effects": 189,
    "kinds": {"worker kill": {"landed": 5, "of": 5}},
    "duplicated": {},
    "lost": {},
    "hanging": {},
    "unreadable": None,
    "parked": {"storm-2-0001": "outcome_unknown: <it> is in doubt"},
}


def whole() -> Data:
    bare = cell("bare/charge/worker-kill/applied", "control", "duplicated")
    first = cell(KILL)
    return Data(report(first, bare), {first["trials"][0]["history"]: seen()}, WINDOW, STORM)


def test_the_page_is_whole_and_needs_no_network() -> None:
    html = page(whole())
    reader = read(html)
    assert len(reader.ids) == len(set(reader.ids))
    assert all(link.startswith("#") and link[1:] in reader.ids for link in reader.links)
    assert not re.search(r"<script|<link|<img|@import|url\(", html)
    assert set(re.findall(r"https?://[^\"\s]+", html)) <= {"http://www.w3.org/2000/svg"}


def test_the_published_scenarios_stand_first_with_both_servers_named() -> None:
    html = read(page(whole())).text
    assert html.index("1.7.13") < html.index("1.7.12") < html.index("The matrix")


def test_of_a_part_of_the_matrix_the_rest_is_left_out() -> None:
    (first,) = [cell(KILL)]
    told = report(first)
    told["published"]["rows"][0]["cell"] = None
    html = page(Data(told, {}))
    read(html)
    assert "scenarios" not in html and "keyed, killed after the effect" not in html
    matrix = html[html.index('id="matrix"') : html.index("Every cell with its counts")]
    assert matrix.count("<table") == 1 and "each column what the tool does" not in matrix
    assert "as it must be: Pawl as its classes promise." in html


def test_of_the_published_scenarios_those_that_were_played_are_shown_with_their_source() -> None:
    told = report(cell(KILL))
    told["published"]["rows"].append({**told["published"]["rows"][0], "scenario": "not played", "cell": None})
    html = page(Data(told, {}))
    assert "1 of the published scenarios, repeated" in html and "not played" not in html
    assert "Restate Durable Agents: Duplicate Tool Calls Tested (2026)" in html


def test_every_verdict_has_a_colour_that_can_be_read_and_its_word() -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    assert COLOURS.keys() == set(Verdict)
    for back, ink in COLOURS.values():
        light, dark = sorted((luminance(back), luminance(ink)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) > 6
    text = read(page(whole())).text
    assert all(verdict.value in text for verdict in Verdict)


def test_what_is_red_is_named_at_the_top_and_ringed_in_the_matrix() -> None:
    bad = cell(KILL, verdict="duplicated", result="not as promised")
    html = page(Data(report(bad, red=(KILL,)), {bad["trials"][0]["history"]: seen()}))
    assert html.index(KILL) < html.index("The nine published")
    assert "duplicated, not as promised" in html
    assert "&lt;b&gt;marks&lt;/b&gt;" in html
    assert "<b>marks</b>" not in html


def test_what_was_not_run_is_said() -> None:
    text = read(page(Data(report(), {}))).text
    assert "No cell was played." in text
    assert "python -m lab window" in text
    assert "python -m lab storm" in text
    assert "No history was kept." in text


def test_a_timeline_has_the_lanes_the_kill_and_the_rows_of_its_own_run() -> None:
    drawn = marks(seen())
    assert [mark.at for mark in drawn] == sorted(mark.at for mark in drawn)
    assert [(mark.lane, mark.shape) for mark in drawn] == [
        ("run", "square"),
        ("model", "dot"),
        ("receiver", "dot"),
        ("worker", "cross"),
        ("worker", "square"),
        ("receiver", "ring"),
    ]
    html = timeline(seen(), KILL)
    read(html)
    for lane in ("model", "worker", "server", "receiver"):
        assert f">{lane}</text>" in html
    assert ">killed</text>" in html
    assert ">dead</text>" in html
    assert "the receiver has applied it" in html


def test_a_timeline_of_nothing_and_of_very_much_is_still_one() -> None:
    assert "Nothing was noted" in timeline(replace(seen(), events=(), landings=(), ledger=None), KILL)
    much = tuple(Event(100.0 + index, "worker", "killed") for index in range(200))
    assert "further marks" in timeline(replace(seen(), events=much), KILL)


def test_the_storm_says_what_was_lost() -> None:
    lost = {**STORM, "good": False, "lost": {"storm-2-0001": ["the run completed and sms was never applied"]}}
    text = read(page(replace(whole(), storm=lost))).text
    assert "the run completed and sms was never applied" in text


def test_the_command_writes_the_page_from_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        pages.run(tmp_path, None, Show())
    data = whole()
    (tmp_path / "report.json").write_text(json.dumps(data.report))
    (tmp_path / "storm.json").write_text(json.dumps(STORM))
    for name, each in data.histories.items():
        history.write(each, tmp_path / name)
    assert pages.run(tmp_path, KILL, Show()) == 0
    html = (tmp_path / "report.html").read_text()
    assert "timeline first" in html
    assert "Not measured here" in html
    with pytest.raises(UsageError, match="no cell"):
        pages.write(tmp_path, "nothing/of/the/kind")
    (tmp_path / "storm.json").write_text("{")
    with pytest.raises(LabError, match=r"storm\.json"):
        pages.write(tmp_path)
