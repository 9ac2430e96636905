"""Lanes: threads that play trials side by side, each on grounds of its own, and keep a ground as long as it serves.

Rule: `jobs` trials are at work at any time. A trial that only waits gives its place to another lane, so there are twice
as many lanes as jobs. A ground is used for the trials of its kind until it is spoilt. A trial that cannot be told is
played once more on a new ground, and that is recorded.
Must not know: verdicts; whoever gets a played trial says whether it can be told.
"""

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from lab.errors import LabError
from lab.ground import Ground, GroundKind
from lab.jobs import Job
from lab.matrix import Scene
from lab.play import Played, play

OPEN_TRIES = 2
"""A ground that does not open twice will not open."""


@dataclass(frozen=True, slots=True)
class Task:
    """One trial of a scene. `number` counts from 1."""

    scene: Scene
    kind: GroundKind
    number: int
    again: bool = False


Take = Callable[[Task, Played], bool]
"""Gets a played trial; returns whether it is good. One that is not is played once more."""
Watch = Callable[[int, str, str], None]
"""Gets what a lane does: its number, the trial (empty where it does nothing), a few words."""


@dataclass(slots=True)
class Lanes:
    """Plays tasks. `fail` gets a task that could not be played at all, and why."""

    folder: Path
    binary: Path
    jobs: int
    seed: int
    take: Take
    fail: Callable[[Task, str], None]
    watch: Watch
    scripted: Mapping[str, Job]
    _left: list[Task] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stop: threading.Event = field(default_factory=threading.Event)
    _grounds: dict[int, Ground] = field(default_factory=dict)
    _at: dict[int, str] = field(default_factory=dict)
    _opened: int = 0
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self, tasks: Sequence[Task]) -> None:
        """Begin; the tasks of a kind stay in their order."""
        self._left = list(tasks)
        places = threading.BoundedSemaphore(self.jobs)
        count = min(2 * self.jobs, len(tasks))
        for number in range(count):
            thread = threading.Thread(target=self._lane, args=(number, places), daemon=True, name=f"lane-{number}")
            self._threads.append(thread)
            thread.start()

    @property
    def running(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        """End every ground; the lanes notice that and leave."""
        self._stop.set()
        with self._lock:
            grounds = list(self._grounds.values())
        for ground in grounds:
            with contextlib.suppress(LabError, httpx.HTTPError, OSError, RuntimeError):
                ground.close()

    def _lane(self, number: int, places: threading.BoundedSemaphore) -> None:
        @contextlib.contextmanager
        def idle() -> Iterator[None]:
            places.release()
            try:
                yield
            finally:
                places.acquire()

        ground: Ground | None = None
        while not self._stop.is_set() and (task := self._next(number, ground.kind if ground else None)) is not None:
            with places:
                try:
                    ground = self._play(number, task, ground, idle)
                except Exception as error:  # noqa: BLE001 - a bug of the lab: nothing can be told, and others go on
                    self._close(number)
                    ground = None
                    if not self._stop.is_set():
                        self._failed(task, f"the lab failed: {error!r}")
        self.watch(number, "", "")
        if ground is not None:
            self._close(number)

    def _next(self, number: int, kind: GroundKind | None) -> Task | None:
        """Of the ground that is open; else of the smallest kind that no lane is at, so that what all lanes can share is
        left for the end; else of the kind of which most is left."""
        with self._lock:
            self._at.pop(number, None)
            if not self._left:
                return None
            counted = Counter(task.kind.name for task in self._left)
            free = [name for name in counted if name not in self._at.values()]
            if kind is not None and kind.name in counted:
                wanted = kind.name
            else:
                wanted = min(free, key=counted.__getitem__) if free else counted.most_common(1)[0][0]
            self._at[number] = wanted
            index = next(index for index, task in enumerate(self._left) if task.kind.name == wanted)
            return self._left.pop(index)

    def _play(
        self,
        number: int,
        task: Task,
        ground: Ground | None,
        idle: Callable[[], contextlib.AbstractContextManager[None]],
    ) -> Ground | None:
        name = task.scene.id
        if ground is None or ground.kind.name != task.kind.name:
            self._close(number)
            self.watch(number, name, "starting the stack")
            try:
                ground = self._ground(number, task.kind)
            except (LabError, httpx.HTTPError, OSError) as error:
                if not self._stop.is_set():
                    self._failed(task, str(error))
                return None
        played = play(task.scene, ground, task.number, self.seed, idle, lambda words: self.watch(number, name, words))
        if self._stop.is_set():
            return ground
        good = self.take(task, played)
        if not good:
            self._play_again(task)
        if played.spoilt or not good:
            self._close(number)
            return None
        return ground

    def _failed(self, task: Task, why: str) -> None:
        self.fail(task, why)
        self._play_again(task)

    def _play_again(self, task: Task) -> None:
        """Once, when everything else has had its turn."""
        if not task.again:
            with self._lock:
                self._left.append(Task(task.scene, task.kind, task.number, again=True))

    def _ground(self, number: int, kind: GroundKind) -> Ground:
        for attempt in range(1, OPEN_TRIES + 1):
            with self._lock:
                self._opened += 1
                folder = self.folder / f"ground-{self._opened:02}"
            folder.mkdir(parents=True)
            ground = Ground(kind, folder, self.binary, self.scripted)
            with self._lock:
                self._grounds[number] = ground
            try:
                ground.open()
            except (LabError, httpx.HTTPError, OSError):
                if attempt == OPEN_TRIES or self._stop.is_set():
                    raise
                continue
            return ground
        raise AssertionError("the loop returns or raises")

    def _close(self, number: int) -> None:
        with self._lock:
            ground = self._grounds.pop(number, None)
        if ground is not None:
            ground.close()
