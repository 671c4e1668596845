"""Read kernel settings of this machine and find local brokers. Read only."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from kafka_pareto.kafka.cluster import Broker

_CHOSEN = re.compile(r"\[(\S+)\]")
_LIMIT = re.compile(r"^(?P<name>Max [a-z ]+?) {2,}(?P<soft>\S+) +(?P<hard>\S+)", re.MULTILINE)
_ESCAPED = re.compile(r"\\([0-7]{3})")
_ABOUT_SPEED = re.compile(r"ro|rw|(no|rel|strict)atime|nodiratime|lazytime|(no)?barrier(=\d)?|allocsize=\w+|sync")
_NO_DEVICE = "0:"
_MAIN_CLASS = "kafka.Kafka"


@dataclass(frozen=True)
class Mount:
    """The file system of a folder.

    Attributes:
        type: Such as `xfs`.
        options: Options that affect speed, comma-separated; `defaults` if none. Others may name users and servers.
        device: Numbers of the block device, as in `8:1`; major number 0 for a file system without one.
    """

    type: str
    options: str
    device: str


@dataclass(frozen=True)
class Host:
    """This machine.

    Attributes:
        proc: The procfs mount.
        sys: The sysfs mount.
    """

    proc: Path = Path("/proc")
    sys: Path = Path("/sys")

    def sysctl(self, name: str) -> str:
        """Return a kernel value, its numbers separated by single spaces.

        Raises:
            OSError: If this kernel has no such value, or hides it.
        """
        return " ".join((self.proc / "sys" / name.replace(".", "/")).read_text(encoding="ascii").split())

    def choice(self, path: str) -> str:
        """Return the active choice in a file below /sys, such as `always [madvise] never`.

        Raises:
            OSError: If the file does not exist.
        """
        text = (self.sys / path).read_text(encoding="ascii").strip()
        chosen = _CHOSEN.search(text)
        return chosen[1] if chosen else text

    def limit(self, name: str, process: str = "self") -> tuple[str, str]:
        """Return the soft and the hard limit of a process, each a number or `unlimited`.

        Raises:
            OSError: If they cannot be read.
            KeyError: If no limit has this name.
        """
        text = (self.proc / process / "limits").read_text(encoding="ascii")
        return {found["name"]: (found["soft"], found["hard"]) for found in _LIMIT.finditer(text)}[name]

    def mount_of(self, folder: str, process: str = "self") -> Mount:
        """Return the mount of a folder, as seen by the process.

        Links are followed; a relative folder is relative to the process's working directory.

        Raises:
            OSError: If the mounts or the working directory cannot be read.
            LookupError: If no mount contains the folder.
        """
        of_process = self.proc / process
        text = (of_process / "mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
        path = Path(folder) if Path(folder).is_absolute() else (of_process / "cwd").readlink() / folder
        path = path.resolve()
        containing = [(point, mount) for point, mount in map(_mount, text.splitlines()) if path.is_relative_to(point)]
        if not containing:
            raise LookupError(folder)
        longest = max(len(point) for point, _ in containing)
        return [mount for point, mount in containing if len(point) == longest][-1]  # a later one hides an earlier one

    def disks_of(self, mount: Mount) -> list[str]:
        """Return the block devices under a mount, through RAID and device mapper; empty if there are none."""
        if mount.device.startswith(_NO_DEVICE):
            return []
        with suppress(OSError):
            return sorted(set(self._leaves((self.sys / "dev" / "block" / mount.device).resolve(strict=True))))
        return []

    def of_devices(self, interfaces: list[str]) -> list[str]:
        """Return the network interfaces that belong to a device, unlike a container's; all of them if none does."""
        return [each for each in interfaces if (self.sys / "class" / "net" / each / "device").exists()] or interfaces

    def nic_speed_mbit_s(self, interface: str) -> int | None:
        """Return the speed of a network interface; None if its driver does not report it."""
        with suppress(OSError, ValueError):
            speed = int((self.sys / "class" / "net" / interface / "speed").read_text(encoding="ascii"))
            return speed if speed > 0 else None
        return None

    def _leaves(self, device: Path) -> Iterator[str]:
        slaves = sorted((device / "slaves").iterdir()) if (device / "slaves").is_dir() else []
        if not slaves:
            yield device.name
        for slave in slaves:
            yield from self._leaves(slave.resolve())


def _mount(line: str) -> tuple[str, Mount]:
    """Parse a line of mountinfo (proc(5)): fields, optional fields, a dash, then type, source and options."""
    fields, _, rest = line.partition(" - ")
    before, after = fields.split(), rest.split()
    point = _ESCAPED.sub(lambda found: chr(int(found[1], 8)), before[4])
    options = ",".join([before[5], *after[2:]]).split(",")
    about_speed = dict.fromkeys(option for option in options if _ABOUT_SPEED.fullmatch(option))
    return point, Mount(after[0], ",".join(about_speed) or "defaults", before[2])


@dataclass(frozen=True)
class LocalBroker:
    """A broker's process on this machine, and the network interface of its address."""

    id: int
    process_id: int
    interface: str


def local_brokers(brokers: Iterable[Broker]) -> list[LocalBroker]:
    """Return the brokers whose processes listen on their advertised addresses on this machine.

    It does not find brokers in a container, behind a tunnel, or of a user whose processes are hidden.
    """
    interfaces = _interfaces()
    listening = _listening()
    found = []
    for broker in brokers:
        interface = next((interfaces[each] for each in _addresses(broker.host) if each in interfaces), None)
        process_id = listening.get(broker.port)
        if interface is not None and process_id is not None and _is_a_broker(process_id):
            found.append(LocalBroker(broker.id, process_id, interface))
    return found


def _interfaces() -> dict[str, str]:
    return {
        address.address.partition("%")[0]: name
        for name, addresses in psutil.net_if_addrs().items()
        for address in addresses
        if address.family in (socket.AF_INET, socket.AF_INET6)
    }


def _listening() -> dict[int, int]:
    """Map listening ports to process IDs; empty if this user may not list them."""
    with suppress(psutil.Error, OSError):
        return {
            connection.laddr.port: connection.pid
            for connection in psutil.net_connections("tcp")
            if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.pid is not None
        }
    return {}


def _addresses(host: str) -> list[str]:
    with suppress(OSError, UnicodeError):
        return [str(found[4][0]) for found in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
    return []


def _is_a_broker(process_id: int) -> bool:
    with suppress(psutil.Error):
        return _MAIN_CLASS in psutil.Process(process_id).cmdline()
    return False
