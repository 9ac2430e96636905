"""The list of cells: complete, without doubles, and strict where it can be."""

import pytest

from lab import matrix
from lab.campaign import kind_of
from lab.cells import Fault, Group, Point, Verdict
from lab.contestants import targets as peers
from lab.faults import FAULTS
from lab.jobs import JOBS, Class, Job
from lab.matrix import cells, chosen, scenes
from lab.places import PLACES
from lab.published import PUBLISHED
from lab.targets import CONTROLS, JOURNALED, KEYED, PAWL, PLAIN

ALL = cells(peers.TARGETS)
PAWLS = [cell for cell in ALL if cell.group is Group.PAWL]


def test_no_id_is_there_twice_and_none_is_without_what_it_needs() -> None:
    assert len({cell.id for cell in ALL}) == len(ALL)
    known = {target.name for target in (PAWL, *CONTROLS, *peers.TARGETS)}
    assert all(cell.target in known and cell.job in JOBS and cell.expected for cell in ALL)
    assert FAULTS.keys() == set(Fault)
    assert PLACES.keys() == set(Point)


def test_every_fault_and_every_point_is_in_pawl_s_matrix() -> None:
    # A receiver that takes no notice of keys is none that Pawl promises anything for: there it is a control.
    assert {cell.fault for cell in PAWLS} == set(Fault) - {Fault.KEYS_IGNORED}
    assert {cell.point for cell in PAWLS} == set(Point)


def test_every_class_is_killed_at_every_point_of_its_effect_and_of_the_model_call() -> None:
    kinds = {job: JOBS[job].kind for job in ("order", "crm", "charge", "transfer", "sms")}
    assert set(kinds.values()) == set(Class)
    for job, kind in kinds.items():
        points = {cell.point for cell in PAWLS if cell.job == job and cell.fault is Fault.WORKER_KILL}
        # A READ has no seal, so what it waits for before it leaves is that the model's reply is recorded.
        assert points == set(Point) - {Point.NONE} - ({Point.BEFORE} if kind is Class.READ else set())


def test_a_class_is_never_allowed_to_double_or_to_lose() -> None:
    for cell in PAWLS:
        kind = JOBS[cell.job].kind
        assert not cell.expected & {Verdict.DUPLICATED, Verdict.LOST, Verdict.INVALID}, cell.id
        assert (Verdict.NONE in cell.expected) == (kind is Class.READ), cell.id
        if kind is Class.KEYED and cell.fault is not Fault.KEY_EXPIRED:
            assert cell.expected == {Verdict.ONCE}, cell.id


def test_unknown_is_allowed_only_where_a_worker_that_takes_over_cannot_know() -> None:
    strict = [cell for cell in PAWLS if cell.fault is Fault.WORKER_KILL and cell.point not in matrix.IN_DOUBT]
    assert strict and all(Verdict.UNKNOWN not in cell.expected for cell in strict)


def expected(target: str, fault: Fault, point: Point) -> set[Verdict]:
    found = [
        cell
        for cell in ALL
        if (cell.target, cell.fault, cell.point, cell.job) == (target, fault, point, "charge")
        and cell.group is Group.CONTROL
    ]
    assert len(found) == 1
    return set(found[0].expected)


@pytest.mark.parametrize(
    ("target", "before", "applied", "recorded"),
    [
        (PLAIN.name, Verdict.ONCE, Verdict.DUPLICATED, Verdict.DUPLICATED),
        ("bare", Verdict.ONCE, Verdict.DUPLICATED, Verdict.DUPLICATED),
        (JOURNALED.name, Verdict.ONCE, Verdict.DUPLICATED, Verdict.ONCE),
        ("fresh-key", Verdict.ONCE, Verdict.DUPLICATED, Verdict.ONCE),
        (KEYED.name, Verdict.ONCE, Verdict.ONCE, Verdict.ONCE),
    ],
)
def test_each_control_must_fail_where_what_it_lacks_shows(
    target: str, before: Verdict, applied: Verdict, recorded: Verdict
) -> None:
    assert expected(target, Fault.WORKER_KILL, Point.BEFORE) == {before}
    assert expected(target, Fault.WORKER_KILL, Point.APPLIED) == {applied}
    assert expected(target, Fault.WORKER_KILL, Point.RECORDED) == {recorded}


def test_a_key_from_the_invocation_s_own_random_does_not_survive_an_operator_s_restart() -> None:
    assert expected("keyed", Fault.RESTARTED_SCRATCH, Point.APPLIED) == {Verdict.DUPLICATED}


def test_pawl_itself_is_a_control_where_the_receiver_takes_no_notice_of_keys() -> None:
    unheeded = [cell for cell in ALL if cell.fault is Fault.KEYS_IGNORED]
    assert {cell.target for cell in unheeded} == {PAWL.name, KEYED.name}
    assert {cell.group for cell in unheeded} == {Group.CONTROL}
    for target in (PAWL, KEYED):
        assert expected(target.name, Fault.KEYS_IGNORED, Point.APPLIED) == {Verdict.DUPLICATED}
        assert expected(target.name, Fault.KEYS_IGNORED, Point.RECORDED) == {Verdict.ONCE}


def test_the_nine_published_scenarios_come_first_with_exact_counts() -> None:
    assert len(PUBLISHED) == 9
    first = ALL[:9]
    assert all(cell.group is Group.PUBLISHED and cell.job == "receipt" for cell in first)
    assert all(None not in (each.counts.model_calls, each.counts.received, each.counts.applied) for each in first)
    for scenario in PUBLISHED:
        told, counts = scenario.told, scenario.counts
        for name in ("model_calls", "received", "applied"):
            assert getattr(told, name) in (None, getattr(counts, name)), scenario.label


@pytest.mark.parametrize(
    ("pattern", "ids"),
    [
        ("pawl/charge/worker-kill/applied", {"pawl/charge/worker-kill/applied"}),
        ("pawl/charge/worker-kill", {f"pawl/charge/worker-kill/{p.value}" for p in Point if p is not Point.NONE}),
        ("plain/charge/no-fault,keyed/charge/no-fault", {"plain/charge/no-fault", "keyed/charge/no-fault"}),
        ("pawl/*/no-fault", {f"pawl/{job}/no-fault" for job in ("order", "crm", "charge", "transfer", "sms")}),
        ("pawl/*/key-expired", {f"pawl/charge/key-expired/{point}" for point in ("arrived", "applied")}),
        ("published", {cell.id for cell in ALL if cell.group is Group.PUBLISHED}),
        ("pawl,control", {cell.id for cell in ALL if cell.group in (Group.PAWL, Group.CONTROL)}),
        ("worker-kill/unrecorded,!", None),
        ("nothing", set()),
    ],
)
def test_cells_are_chosen_by_words_or_patterns(pattern: str, ids: set[str] | None) -> None:
    found = {cell.id for cell in chosen(ALL, pattern)}
    if ids is None:
        assert found and all("/worker-kill/unrecorded" in each for each in found)
    else:
        assert found == ids
    assert chosen(ALL, None) == ALL


def test_a_word_is_whole() -> None:
    assert not any(cell.target.endswith("-keyed") for cell in chosen(ALL, "keyed/"))


def test_scenes_hold_every_cell_once_and_no_effect_twice() -> None:
    made = scenes(ALL)
    assert sorted(cell.id for scene in made for cell in scene.cells) == sorted(cell.id for cell in ALL)
    for scene in made:
        effects = [JOBS[cell.job].effect for cell in scene.cells]
        assert len(set(effects)) == len(effects), scene.id
        assert all(
            (cell.target, cell.fault, cell.point) == (scene.target, scene.fault, scene.point) for cell in scene.cells
        )


def test_grounds_differ_only_where_a_fault_needs_it() -> None:
    targets = {target.name: target for target in (PAWL, *CONTROLS, *peers.TARGETS)}
    kinds = {kind_of(scene, targets).name for scene in scenes(cells())}
    assert kinds == {"pawl 1", "pawl 3", "pawl PAWL_KEY_LIFETIME_S=40 1", *(f"{target.name} 1" for target in CONTROLS)}


@pytest.mark.parametrize("job", JOBS.values(), ids=lambda job: job.name)
def test_a_job_marks_its_effect_with_the_trial(job: Job) -> None:
    """Else what was applied for it could not be told from anything else."""
    assert "tabc" in job.task("tabc")
    assert "{tag}" in str(job.replies[0])
    assert job.model_calls == len(job.script()["replies"]) >= 2
