"""How far functions differ in what a foretold risk comes to: the prior of `cachelayer.semantic.evidence.calibration`.

    python -m benchmarks.decide.sharpness --data DATA --vectors DIR --part tune

Streams of every source are read as in `train_risk`; each is then foretold, and learned from, by the library's own
risk model, whose first weights were fitted without that source. A line through the log odds of what came says by how
much they were shifted and how sharply they turned. Spread over the streams, it is what the prior is taken from
(empirical Bayes: Robbins 1956).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from record import parser_of
from sklearn.linear_model import LogisticRegression

from cachelayer.semantic.evidence.calibration import PIVOT
from cachelayer.semantic.evidence.risk import Prior, RiskModel

from .train_risk import Domain, Part, by_margin, by_prior, domains, fit, readings

START = 30
"""Labels before the neighbours have a say."""


def source(domain: Domain) -> str:
    """The data that a domain was made of: traps put into a stream are of the same."""
    return domain.name.split()[0]


def line(part: Part, prior: Prior) -> tuple[float, float]:
    """(shift, slope) of the log odds of one stream that is learned from as it comes."""
    features, right, _ = part
    model = RiskModel(prior)
    odds = np.empty(len(right))
    for i, (row, one) in enumerate(zip(features, right, strict=True)):
        x = model.encode(row)
        risk = model.risk(x)
        odds[i] = np.log(risk / (1.0 - risk))
        model.learn(x, bool(one))
    found = LogisticRegression(C=1e6, max_iter=1000).fit(odds[START:, None] - PIVOT, ~right[START:])
    return float(found.intercept_[0]) - PIVOT, float(found.coef_[0, 0])


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with dev/ and train/open/")
    parser.add_argument("--vectors", type=Path, required=True, help="folder where vectors are kept")
    parser.add_argument("--part", choices=("tune", "report"), help="only classes of this part of dev/")
    parser.add_argument("--seeds", type=int, default=3, help="streams drawn of each source (default 3)")
    args = parser.parse_args()
    every = domains(args.data, args.vectors, args.part)
    first = fit([(*readings(d.draw(0), by_margin, 0), d.weight) for d in every])
    streams = [
        (d, (*readings(d.draw(1000 + seed), by_prior(first, 0.06), seed), d.weight))
        for d in every
        for seed in range(args.seeds)
    ]
    lines = []
    for domain, part in streams:
        prior = fit([p for d, p in streams if source(d) != source(domain)])
        lines.append(line(part, prior))
        print(f"{domain.name:20s} shift {lines[-1][0]:+.2f} slope {lines[-1][1]:.2f}", flush=True)
    for name, values in zip(("shift", "slope"), np.array(lines).T, strict=True):
        print(f"{name}: mean {values.mean():+.3f}, standard deviation {values.std(ddof=1):.3f}, "
              f"{values.min():+.2f} to {values.max():+.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
