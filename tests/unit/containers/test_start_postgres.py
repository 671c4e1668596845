"""The first start of the Debian Postgres image, which may be killed at any point; `initdb` is a stand-in."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast

SCRIPT = Path(__file__).parents[3] / "include" / "containers" / "debian" / "start-postgres.sh"
# Like the real one, it writes PG_VERSION early and takes no folder with files in it.
INITDB = """#!/bin/sh
for folder; do :; done
mkdir -p "$folder" && [ -z "$(ls -A "$folder")" ] || exit 1
echo 15 > "$folder/PG_VERSION"
[ "$KILLED" != initdb ] || kill -9 $$
echo local > "$folder/pg_hba.conf"
cat > "$folder/password"
[ "$KILLED" != echo ] || kill -9 $PPID
"""
MV = """#!/bin/sh
case "$KILLED $*" in "mv "*pg_hba.conf*) exit 1 ;; esac
exec /bin/mv "$@"
"""


@pytest.mark.parametrize("killed", ["initdb", "echo", "mv"])
def test_a_first_start_that_was_cut_short_is_resumed_by_the_next_one(tmp_path: Path, killed: str) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for program, text in (("initdb", INITDB), ("mv", MV)):
        (tmp_path / program).write_text(text)
        (tmp_path / program).chmod(0o700)

    def start(killed: str) -> int:
        environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PGDATA": str(data), "POSTGRES_PASSWORD": "a b'c"}
        argv = ["/bin/sh", str(SCRIPT), "true"]
        return subprocess.run(argv, env={**environment, "KILLED": killed}, timeout=60, check=False).returncode

    assert start(killed) != 0
    assert start("") == 0
    assert sorted(path.name for path in data.iterdir()) == ["PG_VERSION", "password", "pg_hba.conf"]
    assert (data / "password").read_text() == "a b'c\n"
    assert (data / "pg_hba.conf").read_text() == "local\nhost all all all scram-sha-256\n"
