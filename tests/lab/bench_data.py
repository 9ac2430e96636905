"""A small benchmark's findings by hand, as the parts give them."""

from typing import Any

from lab.bench.sums import spread


def contestant(name: str, title: str, alone_ms: float, rates: tuple[float, ...]) -> dict[str, Any]:
    rated = {**spread(rates), "each_round": list(rates), "runs": 100, "p50": 1.0, "p90": 2.0, "p99": 3.0}
    return {
        "name": name,
        "title": title,
        "alone_ms": {
            "p50": alone_ms,
            "p90": 2 * alone_ms,
            "p99": 3 * alone_ms,
            "runs": 50,
            "median_of_round": spread([alone_ms - 1, alone_ms, alone_ms + 1]),
            "each_round": [alone_ms],
        },
        "runs_per_s": {"8": rated, "32": rated},
        "cpu_s_per_1000": {part: spread([5.0, 6.0]) for part in ("worker", "engine", "mocks", "load")},
        "mocks_busy": 0.07,
        "model_calls_again": 0,
        "memory_mb": {"after_runs": 900, "resident": 88.8},
    }


def parts(*, quick: bool = False) -> dict[str, Any]:
    about = {"started_at": 1.8e9, "seconds": 60.0, "rounds": 3, "quick": quick}
    speed = {
        **about,
        "job_steps": 5,
        "idle_cores": 0.02,
        "contestants": [
            contestant("plain", "plain loop", 10.0, (40.0, 50.0, 60.0)),
            contestant("pawl", "Pawl", 20.0, (80.0, 150.0, 60.0)),
        ],
    }
    recovered = {"name": "pawl", "title": "Pawl", "by_itself": True, "kills": 3}
    recovered |= {"recovered_s": spread([1.0, 1.1, 2.5]), "listens_s": spread([0.4])}
    growth = {
        **about,
        "turns": 20,
        "reply_bytes": 2000,
        "contestants": [
            {
                "name": name,
                "title": name,
                "turn_ms": {"10": spread([last / 2]), "20": spread([last])},
                "each_turn_ms": [last * turn / 20 for turn in range(1, 21)],
            }
            for name, last in (("plain", 40.0), ("pawl", 10.0))
        ],
    }
    return {"speed": speed, "recovery": {**about, "contestants": [recovered]}, "growth": growth}


ABOUT = {
    "started_at": 1.8e9,
    "seconds": 180.0,
    "versions": {
        "restate_server": "1.7.12",
        "restate-sdk": "1.3.0",
        "python": "3.11.7",
        "openai": "3.57.0",
        "httpx": "0.28.1",
    },
    "machine": {"system": "Linux", "processors": 2},
    "left_out": ["DBOS: the peers' Python packages are not installed"],
}
