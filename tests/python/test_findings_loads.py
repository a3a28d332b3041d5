"""What findings take for a load, and which loads they take for the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fabricated import fabricated
from fathom import Result
from fathom._asked import asked_load
from fathom.findings.observed import observe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fathom.findings.observed import Load


def asked(
    result: Result,
    *,
    span: Mapping[str, object] = {},
    extensions: Mapping[str, object] = {},
    options: Mapping[str, object] = {},
    **target: object,
) -> Result:
    """Return a result with more in the request of its time span, its target and its options."""
    raw: dict[str, Any] = json.loads(json.dumps(dict(result.raw)))
    (first,) = raw["request"]["profile"]["time_spans"]
    first |= span
    first["targets"][0] |= target
    first["targets"][0].setdefault("extensions", {}).update(extensions)
    raw["request"]["options"] |= options
    return Result.from_json(json.dumps(raw))


def load_of(result: Result) -> Load:
    """Return the load that rules see."""
    observed = observe(result)
    assert observed is not None
    return observed.load


def test_requests_per_thread_counted_where_no_threads_share_the_targets() -> None:
    """-t2 -O8 -o1 keeps 2 outstanding, not 16: the engine takes -O with -F alone."""
    own = fabricated(threads=2, depth=1)
    for thread_count, depth in ((0, 1), (2, 8)):
        result = asked(own, span={"request_count": 8, "thread_count": thread_count})
        assert asked_load(result.raw["request"]).depth == depth
        assert (load_of(result).threads, load_of(result).depth) == (2, depth)
