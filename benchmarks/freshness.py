"""How often questions are taken for time-sensitive, by class: what `Policy(fresh="auto")` gives a short life.

    python -m benchmarks.freshness --data DATA [--json OUT]

Reads every stream and text file with classes below DATA (`*.jsonl.gz`, one {"q" or "text", "cls"} a line). Classes are
listed by their share of flagged questions; whether a class really asks for what changes is for the reader to judge:
the labels do not say.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from corpus import rows_of
from record import parser_of

from cachelayer.semantic.freshness import time_sensitive


def counted(path: Path) -> dict[str, Any] | None:
    """Flagged and all questions by class, and seconds a question; None for a file of another kind."""
    flagged: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    seconds = 0.0
    for row in rows_of(path):
        text = row.get("q", row.get("text"))
        if not isinstance(text, str) or "cls" not in row or row.get("lang", "en") != "en":
            continue
        name = "out of scope" if "oos" in row["cls"] else row["cls"]
        started = time.thread_time()
        flagged[name] += bool(time_sensitive(text))
        seconds += time.thread_time() - started
        asked[name] += 1
    if len(asked) < 2 or len(asked) > 1000:
        return None
    n = asked.total()
    return {
        "file": path.parent.name + "/" + path.name, "questions": n, "flagged": flagged.total() / n,
        "microseconds": 1e6 * seconds / n,
        "classes": {name: [flagged[name], asked[name]] for name in asked},
    }  # fmt: skip


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with classes of questions")
    parser.add_argument("--json", type=Path, help="write all counts here")
    args = parser.parse_args()
    found = [one for path in sorted(args.data.rglob("*.jsonl.gz")) if (one := counted(path)) is not None]
    for one in found:
        classes = sorted(one["classes"].items(), key=lambda item: -item[1][0] / item[1][1])
        often = [(name, k / n) for name, (k, n) in classes if k / n >= 0.1]
        other = [(k, n) for _, (k, n) in classes if k / n < 0.1]
        rest = sum(k for k, _ in other) / max(sum(n for _, n in other), 1)
        print(
            f"\n{one['file']}: {one['questions']:,} questions of {len(classes)} classes, {one['flagged']:.2%} flagged, "
            f"{one['microseconds']:.0f} us each"
        )
        print(
            f"  in {len(often)} classes 10 % or more: " + ", ".join(f"{n} {share:.0%}" for n, share in often)
        )
        print(f"  in the other {len(other)} classes: {rest:.2%}")
    if args.json is not None:
        args.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
