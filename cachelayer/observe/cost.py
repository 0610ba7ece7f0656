"""What answers cost and what hits spare: prices per model, tokens, GPU seconds, by tenant and tag."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..checks import number
from ..errors import ConfigurationError
from ..flow import forks
from .topn import TopN

MILLION = 1e6
_VERSION: Final = re.compile(r"[-@:](?:\d{3,}.*|latest|preview.*)")
"""What follows a model's name where a certain version of it is meant."""
_LABEL: Final = 200
"""Characters of a name that metrics show: callers choose models and, where tags are made of arguments, tags."""


class Bill(NamedTuple):
    """What an answer took: the model's name, tokens, for whom it was made and under which tags."""

    model: str
    prompt: int = 0
    """Tokens of the prompt, those that the model's own cache held included."""
    cached: int = 0
    """Of these, held by the model's own cache."""
    completion: int = 0
    tenant: str | None = None
    tags: tuple[str, ...] = ()
    """Those that its owner gave it."""


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one model. Tokens: money a million. GPUs, where one runs it oneself: how many serve a request, how
    many requests share them, money an hour each."""

    prompt: float = 0.0
    completion: float = 0.0
    cached: float | None = None
    """None: as `prompt`."""
    gpus: float = 0.0
    batch: float = 1.0
    gpu_hour: float = 0.0
    date: str = ""
    """When it was looked up."""
    source: str = ""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if name in ("date", "source"):
                if not isinstance(value, str):
                    raise ConfigurationError(f"price.{name}", value, "give a text")
                continue
            if value is None and name == "cached":
                continue
            number(f"price.{name}", value, 1.0 if name == "batch" else 0.0)

    def gpu_seconds(self, seconds: float) -> float:
        """GPU seconds of a request that took `seconds`."""
        return seconds * self.gpus / self.batch

    def of(self, bill: Bill, seconds: float) -> float:
        """Money for one answer that took `seconds`."""
        cached = self.prompt if self.cached is None else self.cached
        tokens = (
            (bill.prompt - bill.cached) * self.prompt
            + bill.cached * cached
            + bill.completion * self.completion
        )
        return tokens / MILLION + self.gpu_seconds(seconds) * self.gpu_hour / 3600


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices by model.

    A name stands for itself and for its dated versions ("gpt-4o" for "gpt-4o-2024-08-06"); one that ends with * for
    every name that begins so. A provider's prefix ("openai/gpt-4o") is left out where the whole name is not there. The
    longest name counts, and `default` where there is none.
    """

    models: Mapping[str, Price]
    currency: str = "USD"
    date: str = ""
    source: str = ""
    default: Price = field(default_factory=Price)

    def __post_init__(self) -> None:
        given = self.models if isinstance(self.models, Mapping) else {"": self.models}
        for name, price in [*given.items(), ("default", self.default)]:
            if not (isinstance(name, str) and name and isinstance(price, Price)):
                raise ConfigurationError("prices", {name: price}, "give a Price by each model's name")

    @classmethod
    def load(cls, path: Path | str | Mapping[str, Any]) -> Prices:
        """Prices by a JSON file, or what one holds: {"currency", "date", "source", "models": {name: {"prompt", ...}}}.

        With "bundled": true those of `bundled` stand where the file names no price. Raises ConfigurationError naming
        the file and the field.
        """
        try:
            read = path if isinstance(path, Mapping) else json.loads(Path(path).read_text("utf-8"))
            held: dict[str, Any] = dict(read)
            models = {name: Price(**fields) for name, fields in held.pop("models").items()}
            default, more = Price(**held.pop("default", {})), held.pop("bundled", False)
            loaded = cls(models, default=default, **held)
        except ConfigurationError:
            raise
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as fault:
            shape = '{"models": {"name": {"prompt": 2.5, "completion": 10}}}, per million tokens'
            what = getattr(fault, "strerror", None) or fault
            raise ConfigurationError("prices", str(path), f"{what}; give JSON like {shape}") from None
        if not more:
            return loaded
        held_too = cls.bundled()
        if loaded.currency != held_too.currency:
            remedy = f"bundled prices are in {held_too.currency}: give all prices in it, or leave bundled out"
            raise ConfigurationError("currency", loaded.currency, remedy)
        return replace(loaded, models={**held_too.models, **models})

    @classmethod
    def bundled(cls) -> Prices:
        """List prices of well-known models, each with its date and source. They change: look at the dates."""
        return cls.load(json.loads(files(__package__).joinpath("prices.json").read_bytes()))

    def of(self, model: str) -> Price:
        """The price of a model."""
        return self.find(model) or self.default

    def find(self, model: str) -> Price | None:
        """The price of a model; None if no name stands for it."""
        for name in dict.fromkeys((model, model.rpartition("/")[2])):
            if name in self.models:
                return self.models[name]
            near = [known for known in self.models if _stands_for(known, name)]
            if near:
                return self.models[max(near, key=len)]
        return None


Listed = Prices | Path | str | Mapping[str, Any]
"""Prices, or what they are read from."""


def _stands_for(known: str, name: str) -> bool:
    if known.endswith("*"):
        return name.startswith(known[:-1])
    return name.startswith(known) and _VERSION.fullmatch(name[len(known) :]) is not None


def _label(name: str) -> str:
    """A name as metrics show it: of bounded length, and of characters that UTF-8 has."""
    if name.isascii() and len(name) <= _LABEL:
        return name
    return name[:_LABEL].encode("utf-8", "replace").decode()


class Ledger:
    """Adds up what was spent on backend calls and what hits spared. Bounded: `MODELS` models, n tenants and tags."""

    MODELS = 64

    def __init__(self, prices: Prices, *, tenants: int = 0, tags: int = 0) -> None:
        self.prices = prices
        self._lock = forks.whole_lock()
        """Callers of plain functions count in threads of their own."""
        self._by_model: dict[str, Counter[str]] = {}
        self._priced: dict[str, Price | None] = {}
        """What `find` says of the models that were asked, so that a bill does not look it up again."""
        self._tenants = TopN(tenants) if tenants else None
        self._tags = TopN(tags) if tags else None

    def add(self, bill: Bill, seconds: float, *, hit: bool, times: int = 1, asked: bool = True) -> float:
        """Count `times` answers, served by a hit or made by the backend in `seconds` each; money for one.

        `asked`: whether they answer requests; a refresh in the background does not.
        """
        with self._lock:
            return self._add(bill, seconds, hit, times, asked)

    def _add(self, bill: Bill, seconds: float, hit: bool, times: int, asked: bool) -> float:
        model = _label(bill.model)
        found = self._price(model)
        price = found or self.prices.default
        money, gpu = price.of(bill, seconds), price.gpu_seconds(seconds)
        kind = "saved" if hit else "spent"
        counts = self._model(model)
        counts[f"{kind}_cost"] += times * money  # type: ignore[assignment]
        counts[f"{kind}_gpu"] += times * gpu  # type: ignore[assignment]
        if not hit:
            if found is None:
                counts["unpriced"] += times
            for token, n in (
                ("prompt", bill.prompt),
                ("cached", bill.cached),
                ("completion", bill.completion),
            ):
                counts[token] += times * n
        if self._tenants is not None:
            result = "hit" if hit else "miss"
            requests = {result: times} if asked else {}
            self._tenants.add(_label(bill.tenant or "none"), {**requests, kind: times * money}, times)
        if self._tags is not None:
            for tag in bill.tags:
                self._tags.add(_label(tag), {kind: times * money}, times)
        return money

    def _price(self, model: str) -> Price | None:
        if model not in self._priced:
            if len(self._priced) >= 16 * self.MODELS:
                self._priced.clear()
            self._priced[model] = self.prices.find(model)
        return self._priced[model]

    def _model(self, name: str) -> Counter[str]:
        if name not in self._by_model and len(self._by_model) >= self.MODELS:
            name = "other"
        return self._by_model.setdefault(name, Counter())

    def readings(self) -> list[tuple[str, tuple[str, ...], float]]:
        """(metric, labels, value), as they are at one moment."""
        with self._lock:
            return list(self._readings())

    def _readings(self) -> Iterator[tuple[str, tuple[str, ...], float]]:
        currency = self.prices.currency
        for model, counts in self._by_model.items():
            for kind in ("spent", "saved"):
                yield f"{kind}_cost_total", (model, currency), counts[f"{kind}_cost"]
                yield "gpu_seconds_total", (model, kind), counts[f"{kind}_gpu"]
            yield "unpriced_calls_total", (model,), counts["unpriced"]
            for token in ("prompt", "cached", "completion"):
                yield "tokens_total", (model, token), counts[token]
        for tenant, kind, amount in self._tenants or ():
            metric = "tenant_requests_total" if kind in ("hit", "miss") else "tenant_cost_total"
            yield metric, (tenant, kind), amount
        for tag, kind, amount in self._tags or ():
            yield "tag_cost_total", (tag, kind), amount

    def stats(self) -> dict[str, Any]:
        """By model: money spent and saved, GPU seconds, tokens, calls without a price; money by tenant and tag."""
        with self._lock:
            return self._stats()

    def _stats(self) -> dict[str, Any]:
        stats: dict[str, Any] = {
            "currency": self.prices.currency,
            "prices_of": self.prices.date,
            "models": {model: dict(counts) for model, counts in self._by_model.items()},
        }
        for of, busiest in (("tenants", self._tenants), ("tags", self._tags)):
            if busiest is not None:
                by_name: dict[str, dict[str, float]] = {}
                stats[of] = by_name
                for name, kind, amount in busiest:
                    by_name.setdefault(name, {})[kind] = amount
        return stats
