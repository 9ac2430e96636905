"""A rate as a value: how long a request must wait so that all together keep to it. Pure.

A bucket holds up to `burst` requests and is filled with `per_s` a second. Whoever takes more than it holds is told how
long it takes until that has flowed in; the request is entered at once, so the next one waits behind it and nobody asks
a second time.

Rule: one time is kept, the time at which the bucket is full again. Time does not run backwards: with a clock that was
set back the rate is kept by the newest time known.
Must not know: who asks, where the value is kept, clocks.
"""

from services.messages import Kept


class Rate(Kept):
    """Requests per second, and how many may go at once after a pause. `name` is what they are counted under."""

    name: str
    per_s: float
    burst: int = 1


class Bucket(Kept):
    """Times are unix seconds. `full_at`: when it is full again; `at`: the newest time at which it was asked."""

    full_at: float = 0.0
    at: float = 0.0

    def take(self, rate: Rate, at: float, n: int = 1) -> tuple["Bucket", float]:
        """The bucket without `n` requests more, and how long these must wait, in seconds."""
        at = max(at, self.at)
        full_at = max(self.full_at, at) + n / rate.per_s
        return Bucket(full_at=full_at, at=at), max(0.0, full_at - rate.burst / rate.per_s - at)


def read_rate(name: str, words: str | None) -> Rate | None:
    """The rate that a setting says: `5` or `0.5,3`. None where it is not set. Raises ValueError for a rate of none."""
    if words is None:
        return None
    per_s, _, burst = words.partition(",")
    made = Rate(name=name, per_s=float(per_s), burst=int(burst or 1))
    if made.per_s <= 0 or made.burst < 1:
        raise ValueError(f"{words} lets nothing out")
    return made
