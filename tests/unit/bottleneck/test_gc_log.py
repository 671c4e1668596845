"""Pauses as the JVM logs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.bottleneck.broker_metrics import Pause, ends_of, pauses_in, pauses_since

pytestmark = pytest.mark.fast

# As OpenJDK 17 wrote it with -Xlog:gc*:file=…:time,uptime,level,tags.
LOG = """\
[2026-11-23T18:35:35.806+0000][9.277s][info][gc,start    ] GC(11) Pause Young (Normal) (G1 Evacuation Pause)
[2026-11-23T18:35:35.823+0000][9.294s][info][gc,phases   ] GC(11)   Evacuate Collection Set: 15.9ms
[2026-11-23T18:35:35.823+0000][9.294s][info][gc          ] GC(11) Pause Young (Normal) (G1 Evacuation Pause) 51M->37M(384M) 16.999ms
[2026-11-23T18:35:35.823+0000][9.294s][info][gc,cpu      ] GC(11) User=0.01s Sys=0.00s Real=0.02s
[2026-11-23T18:35:36.000+0000][9.471s][info][gc          ] GC(12) Concurrent Mark Cycle 30.123ms
[2026-11-23T18:35:36.500+0000][9.971s][info][gc          ] GC(13) Pause Full (G1 Compaction Pause) 71M->55M(72M) 131.5ms
"""  # noqa: E501 (lines as they are)


def test_only_whole_pauses_are_read_and_neither_phases_nor_concurrent_cycles() -> None:
    assert pauses_in(LOG) == [Pause(1795458935.823, 16.999), Pause(1795458936.5, 131.5)]


def test_pauses_since_a_look_are_those_that_were_added_and_all_of_a_new_log(tmp_path: Path) -> None:
    known, new = tmp_path / "gc-0001.log", tmp_path / "gc-0002.log"
    known.write_text(LOG)
    ends = ends_of([known, new])
    with known.open("a") as log:
        log.write(LOG.splitlines(keepends=True)[-1])
    new.write_text(LOG)
    assert [pause.duration_ms for pause in pauses_since(ends, [known])] == [131.5]
    assert [pause.duration_ms for pause in pauses_since(ends, [known, new])] == [131.5, 16.999, 131.5]
