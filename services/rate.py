"""The object `Rate`, keyed by what is limited: how long the next request to it has to wait, whichever worker asks.

Rule: a handler is exclusive and short and never waits itself; whoever asked does, with a timer of Restate's. The rate
comes with the question, so the object needs no settings.
Must not know: what is limited, what is sent.
"""

from datetime import timedelta

from restate import ObjectContext, VirtualObject

from services.bucket import Bucket, Rate
from services.codec import Codec, codec
from services.messages import Kept

BUCKET = "bucket"
KEPT: Codec[Bucket] = codec(Bucket)

# There are as many of these calls as requests, and nobody will ever look at one that is over.
limiter = VirtualObject("Rate", ingress_private=True, journal_retention=timedelta(0))


class Take(Kept):
    """The question. `n` is how many requests."""

    rate: Rate
    n: int = 1


class Room(Kept):
    """How long to wait, from `at` (unix seconds) on."""

    wait_s: float
    at: float


@limiter.handler(name="take", input_serde=codec(Take), output_serde=codec(Room))
async def take(ctx: ObjectContext, asked: Take) -> Room:
    at = await ctx.time()
    kept = await ctx.get(BUCKET, serde=KEPT) or Bucket()
    left, wait_s = kept.take(asked.rate, at, asked.n)
    ctx.set(BUCKET, left, serde=KEPT)
    return Room(wait_s=wait_s, at=at)
