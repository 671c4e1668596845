"""The table of codecs, ranked with three sources of records."""

from __future__ import annotations

import pandas as pd
import pytest

from benchmarks.codec_ranking import SOURCES, report

pytestmark = pytest.mark.fast


def test_each_source_ranks_the_codecs_by_what_they_leave() -> None:
    remaining = {"own": (0.3, 0.2), "sampled": (0.31, 0.2), "synthetic": (0.4, 0.6)}
    rows = [
        {"kind": "json", "source": source, "codec": codec, "remaining": left}
        for source in SOURCES
        for codec, left in zip(("lz4", "zstd"), remaining[source], strict=True)
    ]

    assert report(pd.DataFrame(rows))[-1] == (
        "| json | zstd 0.20, lz4 0.30 | zstd 0.20, lz4 0.31 | lz4 0.40, zstd 0.60 |"
    )
