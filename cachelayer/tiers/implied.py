"""Tags that every shared entry carries beside its own, so that scopes can be invalidated in every process."""

from __future__ import annotations

from collections.abc import Mapping


def implied(function: str, tenant: str | None) -> tuple[str, ...]:
    """The tags of an answer of `function` for `tenant`.

    They begin with a null character, as no user's tag does.
    """
    return ("\0all", f"\0function:{function}", f"\0tenant:{tenant}" if tenant is not None else "\0nobody")


def implied_by(scope: Mapping[str, str] | None) -> list[str]:
    """The implied tag that covers a scope: for {} that of everything, for None none."""
    if scope is None:
        return []
    if not scope:
        return ["\0all"]
    return [f"\0{kind}:{value}" for kind, value in scope.items()][-1:]


def scope_of(tag: str) -> dict[str, str | None] | None:
    """The scope for which an implied tag stands; None for a user's tag."""
    if tag == "\0all":
        return {}
    if tag == "\0nobody":
        return {"tenant": None}
    kind, _, value = tag.removeprefix("\0").partition(":")
    return {kind: value} if tag.startswith("\0") and kind in ("function", "tenant") else None
