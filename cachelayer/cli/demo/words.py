"""A run in words and numbers: the rows of the table, progress lines and the closing summary."""

from __future__ import annotations

from .. import report
from ..charts import NOTHING, duration
from .stream import Census
from .tally import HITS, SIMILAR, Lane, Price, Tally, Verdict, quantiles

NAMES = {
    Lane.MEMORY: "memory, exact",
    Lane.REDIS: "redis, exact",
    Lane.INDEX: "index, similar",
    Lane.REPEATED: "similar, again or joined",
    Lane.COALESCED: "joined in flight",
    Lane.STALE: "memory, stale",
    Lane.BACKEND: "backend",
    Lane.BYPASS: "past the cache",
}
HEAD = ("answered by", "count", "share", "p50", "p99", "cache wrong", "backend wrong")


def rows(tally: Tally) -> list[tuple[str, ...]]:
    """One row a lane that was used, in the order of `HEAD`."""
    out = []
    for lane, counts in tally.lanes.items():
        if counts.requests or lane in (Lane.MEMORY, Lane.INDEX, Lane.BACKEND):
            p50, p99 = quantiles(counts.seconds)
            wrong = counts.wrong
            backend = wrong[Verdict.BACKEND] + wrong[Verdict.INHERITED]
            numbers = (wrong[Verdict.CACHE] if lane in HITS else NOTHING, backend)
            share = counts.requests / max(tally.requests, 1)
            out.append(
                (
                    NAMES[lane],
                    f"{counts.requests:,}",
                    f"{share:.1%}",
                    duration(p50),
                    duration(p99),
                    *map(str, numbers),
                )
            )
    return out


def facts(tally: Tally) -> list[tuple[str, str]]:
    """The numbers below the table."""
    checks = max(0, tally.backend_calls - tally.lanes[Lane.BACKEND].requests)
    spare = f", {checks:,} of them to check similar hits" if checks else ""
    return [
        (
            "backend calls avoided",
            f"{tally.avoided:,} of {tally.requests:,} ({_part(tally.avoided, tally.requests)})",
        ),
        ("backend calls made", f"{tally.backend_calls:,}{spare}"),
        ("wrong by the cache", wrong_similar(tally)),
        ("wrong by the backend", _backend_wrong(tally)),
        *([("similar tier refused", _refusals(tally))] if tally.reasons else []),
        ("saved", f"{tally.saved_seconds:,.0f} s of generation, about ${tally.saved_cost:.2f}"),
    ]


def progress(tally: Tally) -> str:
    """One line for logs."""
    return (
        f"{tally.requests:>6,}/{tally.total:,}  {tally.elapsed:5.1f} s  "
        f"without the backend {tally.share(HITS):6.1%}  exact {tally.share((Lane.MEMORY, Lane.REDIS)):6.1%}  "
        f"similar {tally.share(SIMILAR):6.1%}  wrong by the cache {tally.faults(Verdict.CACHE)}"
    )


def price(value: Price) -> str:
    """The assumption behind the dollars."""
    return (
        f"${value.input:.2f} per million prompt tokens and ${value.output:.2f} per million answer tokens, "
        f"{value.characters:.0f} characters taken for a token; the prompt is one article and the question"
    )


def traffic(census: Census) -> str:
    """What the stream holds."""
    n = census.requests
    exact, meaning, fresh = (_part(part, n) for part in (census.exact, census.meaning, census.fresh))
    return (
        f"{n:,} requests, {census.distinct:,} different texts: {exact} repeat an earlier one, "
        f"{meaning} ask in other words what was asked before, {fresh} are new"
    )


def wrong_similar(tally: Tally) -> str:
    """The cache's wrong answers among the similar ones."""
    wrong, similar = tally.faults(Verdict.CACHE), tally.similar
    return f"{wrong} of {similar:,} similar answers" + (f" ({wrong / similar:.2%})" if similar else "")


def _refusals(tally: Tally) -> str:
    return ", ".join(f"{report.words(reason)} {n:,}" for reason, n in tally.reasons.most_common(4))


def _backend_wrong(tally: Tally) -> str:
    inherited = tally.faults(Verdict.INHERITED)
    own = tally.faults(Verdict.BACKEND)
    more = f", and {inherited} more served again to the same question in other words" if inherited else ""
    return f"{own:,} answers from the wrong article{more}"


def _part(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else NOTHING
