"""The common spread of groups, and how many values a difference needs."""

from __future__ import annotations

import numpy as np
import pytest
from fathom.stats import pooled_spread


def test_a_difference_whose_count_its_pilot_decided_is_covered() -> None:
    random = np.random.default_rng(4)
    covered, narrow, experiments = 0, 0, 2000
    for _ in range(experiments):
        pilot = random.normal(0, 0.02, (3, 3))
        spread = pooled_spread(list(pilot))
        count = max(spread.count_for(0.03, 2), 3)
        more = random.normal(0, 0.02, (2, count - 3))
        first, second = np.concatenate([pilot[:2], more], axis=1).mean(axis=1)
        half = spread.half_width(count, count)
        covered += abs(first - second) <= half
        narrow += half <= 0.03 * (1 + 1e-9)
    assert 0.935 <= covered / experiments <= 0.965
    assert narrow == experiments


def test_a_single_value_has_no_spread() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        pooled_spread([[1.0], [2.0]])
