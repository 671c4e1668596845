"""Writes the configuration of Filebeat, which follows nginx' access log and sends each entry to the aggregator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

# Of Filebeat's queue, by its default; it refuses to collect more than that before it hands out.
_QUEUE_EVENTS = 4096
# An entry begins with a line that is an opening brace, and ends where the next one begins or nothing came for 5 s.
_OBJECTS = {"type": "pattern", "pattern": r"^\{", "negate": True, "match": "after"}


@dataclass(frozen=True)
class FilebeatSettings:
    """Holds the settings of Filebeat that a study varies.

    Args:
        log_lines: `multi` where an entry of the log is a JSON object over several lines, `single` where it is one line.
        scan_frequency_ms: Pause between two searches for new or reopened files.
        close_inactive_s: A file that has not grown for so long is closed; the next scan opens it if it has grown.
        backoff_ms: Pause after the end of the file is reached; doubles each time that nothing was added.
        max_backoff_ms: Upper bound of that pause.
        flush_min_events: The queue hands out no fewer events, unless they are `flush_timeout_ms` old.
        flush_timeout_ms: See `flush_min_events`; with 0 each event is handed out at once.
        bulk_max_size: Upper bound of a batch's events.
        pipelining: Batches sent without waiting for the aggregator's acknowledgement; with 0 each is waited for.
    """

    log_lines: Literal["multi", "single"]
    scan_frequency_ms: int
    close_inactive_s: int
    backoff_ms: int
    max_backoff_ms: int
    flush_min_events: int
    flush_timeout_ms: int
    bulk_max_size: int
    pipelining: int


def filebeat_yml(settings: FilebeatSettings, log_file: Path, folder: Path, aggregator: str) -> str:
    """Returns the text of Filebeat's configuration file.

    Args:
        settings: What a study varies.
        log_file: The access log to follow, also under the names `<log_file>.1` and so on, once it was rotated.
        folder: Where Filebeat keeps its state.
        aggregator: `host:port` of the server that speaks Beats' protocol.
    """
    configuration = {
        "filebeat.inputs": [_input(settings, log_file)],
        "queue.mem": {
            "events": max(_QUEUE_EVENTS, settings.flush_min_events),
            "flush": {
                "min_events": settings.flush_min_events,
                "timeout": f"{settings.flush_timeout_ms}ms",
            },
        },
        "output.stamped_logstash": {
            "hosts": [aggregator],
            "bulk_max_size": settings.bulk_max_size,
            "pipelining": settings.pipelining,
        },
        "path": {"home": str(folder), "data": str(folder / "data"), "logs": str(folder / "logs")},
        "logging": {"level": "warning", "to_stderr": True, "to_files": False, "metrics": {"enabled": False}},
        "http.enabled": False,
    }
    return yaml.safe_dump(configuration, sort_keys=False)


def _input(settings: FilebeatSettings, log_file: Path) -> dict[str, Any]:
    lines = {"multiline": _OBJECTS} if settings.log_lines == "multi" else {}
    return {
        "type": "log",
        # A renamed file is known again by its inode, also by a Filebeat that was started anew.
        "paths": [str(log_file), f"{log_file}.[0-9]*"],
        "scan_frequency": f"{settings.scan_frequency_ms}ms",
        "backoff": f"{settings.backoff_ms}ms",
        "max_backoff": f"{settings.max_backoff_ms}ms",
        "close_inactive": f"{settings.close_inactive_s}s",
        # A renamed file is read to its end; what was removed is forgotten, since its inode may be given away again.
        "close_renamed": False,
        "close_removed": True,
        "clean_removed": True,
        **lines,
    }
