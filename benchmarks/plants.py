"""Inject one fault into a machine or a cluster while a context is open, and undo it at the end.

Most faults need root and Linux. Nothing outside the context's own network, device, group and processes is touched.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.brokers.processes import tied
from kafka_pareto.kafka.java import java_environment

_CLONE_NEWNET = 0x40000000
_WRITE_LIMITS = Path("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device")
_MIB = 1 << 20


@contextmanager
def limited_link(mbit_s: int) -> Iterator[None]:
    """Put this thread, and all that it starts, into a network of its own whose loopback carries so much."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        if libc.unshare(_CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "a network of its own cannot be made: run this as root")
        # A burst holds the largest packet; packets are as small as on a link between machines.
        _run("ip", "link", "set", "lo", "mtu", "1500", "up")
        _run(*f"tc qdisc add dev lo root tbf rate {mbit_s}mbit burst 64kb limit 8mb".split())
        yield
    finally:
        libc.setns(before, _CLONE_NEWNET)
        os.close(before)


@contextmanager
def slow_disk(mib_s: int, memory_mib: int = 64) -> Iterator[Path]:
    """Mount a device that writes so much, with little of the page cache to hide it, and give the folder on it."""
    with tempfile.TemporaryDirectory(prefix="kafka-pareto-slow-disk-") as made, ExitStack() as opened:
        image, folder = Path(made, "image"), Path(made, "disk")
        folder.mkdir()
        with image.open("wb") as file:
            file.truncate(4 << 30)
        _run("mkfs.ext4", "-q", "-O", "^has_journal", str(image))
        device = _run("losetup", "--find", "--show", str(image))
        opened.callback(_run, "losetup", "--detach", device)
        _run("mount", device, str(folder))
        opened.callback(_run, "umount", str(folder))
        number = Path(device).stat().st_rdev
        named = f"{os.major(number)}:{os.minor(number)}"
        cache = Path("/sys/dev/block", named, "bdi")
        (cache / "strict_limit").write_text("1")
        (cache / "max_bytes").write_text(str(memory_mib * _MIB))
        _WRITE_LIMITS.write_text(f"{named} {mib_s * _MIB}")
        opened.callback(_WRITE_LIMITS.write_text, f"{named} 0")
        yield folder


@contextmanager
def burning(processes: int) -> Iterator[None]:
    """Keep this many processes busy."""
    burners = [subprocess.Popen(tied([sys.executable, "-c", "while True: pass"])) for _ in range(processes)]
    try:
        yield
    finally:
        for each in burners:
            each.kill()
            each.wait()


@contextmanager
def produce_quota(brokers: Brokers, mib_s: float) -> Iterator[None]:
    """Set a quota on what each producer may send to each broker."""
    command = [
        brokers.settings.java,
        "-Xmx128m",
        "-cp",
        f"{brokers.settings.kafka_jars}/*",
        "kafka.admin.ConfigCommand",
    ]
    command += [
        "--bootstrap-server",
        brokers.bootstrap_servers,
        "--alter",
        "--entity-type",
        "clients",
        "--entity-default",
    ]
    _run(*command, "--add-config", f"producer_byte_rate={round(mib_s * _MIB)}")
    try:
        yield
    finally:
        _run(*command, "--delete-config", "producer_byte_rate")


@contextmanager
def paused(brokers: Brokers, after_s: float, seconds: float) -> Iterator[None]:
    """Stop all brokers for a while, this many seconds after the context was opened."""

    def pause() -> None:
        time.sleep(after_s)
        for name in brokers.pids:
            brokers.pause(name)
        time.sleep(seconds)
        for name in brokers.pids:
            brokers.resume(name)

    pausing = threading.Thread(target=pause)
    pausing.start()
    try:
        yield
    finally:
        pausing.join()


def _run(*argv: str) -> str:
    ran = subprocess.run(argv, env=java_environment(), capture_output=True, text=True, timeout=60, check=False)
    if ran.returncode:
        raise OSError(f"{argv[0]}: {ran.stderr.strip()[-300:] or ran.stdout.strip()[-300:]}")
    return ran.stdout.strip()
