"""Kernel files of a machine, here in folders that look like them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.doctor.host import Host

pytestmark = pytest.mark.fast

MOUNTS = r"""22 1 253:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
30 22 9:0 / /var/lib/kafka rw,noatime,nodiratime shared:2 - xfs /dev/md0 rw,attr2,allocsize=65536k,noquota
31 22 0:44 / /mnt/a\040share rw - cifs //host/share rw,username=anna,domain=hunter2
32 30 8:1 / /var/lib/kafka/later rw - ext4 /dev/sda1 rw
33 30 8:17 / /var/lib/kafka/later rw - xfs /dev/sdb1 rw
"""


@pytest.fixture
def host(tmp_path: Path) -> Host:
    proc, sys = tmp_path / "proc", tmp_path / "sys"
    for folder in (proc / "self", proc / "sys/net/ipv4", sys / "class/net/eth0", sys / "class/net/virtual"):
        folder.mkdir(parents=True)
    (proc / "self/mountinfo").write_text(MOUNTS)
    (proc / "sys/net/ipv4/tcp_rmem").write_text("4096\t131072\t6291456\n")
    (proc / "self/limits").write_text(
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max open files            1024                 1048576              files     \n"
        "Max locked memory         unlimited            unlimited            bytes     \n"
    )
    (sys / "choice").write_text("always [madvise] never\n")
    (sys / "class/net/eth0/speed").write_text("25000\n")
    (sys / "class/net/virtual/speed").write_text("-1\n")
    for disk in ("nvme0n1", "nvme1n1"):
        (sys / "devices" / disk).mkdir(parents=True)
        (sys / "devices/md0/slaves").mkdir(parents=True, exist_ok=True)
        (sys / "devices/md0/slaves" / disk).symlink_to(sys / "devices" / disk)
    (sys / "dev/block").mkdir(parents=True)
    (sys / "dev/block/9:0").symlink_to(sys / "devices/md0")
    return Host(proc, sys)


def test_kernel_values_choices_and_limits_are_read(host: Host) -> None:
    assert host.sysctl("net.ipv4.tcp_rmem") == "4096 131072 6291456"
    assert host.choice("choice") == "madvise"
    assert host.limit("Max open files") == ("1024", "1048576")
    assert host.limit("Max locked memory") == ("unlimited", "unlimited")


def test_a_value_that_this_kernel_does_not_have_is_an_error(host: Host) -> None:
    with pytest.raises(FileNotFoundError):
        host.sysctl("vm.swappiness")


def test_a_folder_lies_on_the_nearest_mount_above_it(host: Host) -> None:
    assert host.mount_of("/var/lib/kafka/topic-0").type == "xfs"
    assert host.mount_of("/var/lib/kafkaesque").type == "ext4"
    assert host.mount_of("/var/lib/kafka/later/x").device == "8:17"


@pytest.mark.parametrize("folder", ["/var/lib/kafka/x", "kafka/x", "linked/x"])
def test_a_folder_is_found_through_links_and_from_the_folder_of_its_process(host: Host, folder: str) -> None:
    (host.proc / "7").mkdir()
    (host.proc / "7/mountinfo").write_text(MOUNTS)
    (host.proc / "7/cwd").symlink_to(host.proc if folder.startswith("linked") else "/var/lib")
    (host.proc / "linked").symlink_to("/var/lib/kafka")
    assert host.mount_of(folder, "7").type == "xfs"


def test_only_mount_options_that_affect_speed_are_shown(host: Host) -> None:
    assert host.mount_of("/var/lib/kafka").options == "rw,noatime,nodiratime,allocsize=65536k"
    assert host.mount_of("/mnt/a share/x").options == "rw"


def test_the_disks_under_a_raid_are_named(host: Host) -> None:
    assert host.disks_of(host.mount_of("/var/lib/kafka")) == ["nvme0n1", "nvme1n1"]
    assert host.disks_of(host.mount_of("/mnt/a share")) == []


def test_an_interface_that_does_not_know_its_speed_has_none(host: Host) -> None:
    assert host.nic_speed_mbit_s("eth0") == 25_000
    assert host.nic_speed_mbit_s("virtual") is None
    assert host.nic_speed_mbit_s("absent") is None


def test_interfaces_of_a_device_are_the_brokers_and_without_any_all(host: Host) -> None:
    assert host.of_devices(["eth0", "virtual"]) == ["eth0", "virtual"]
    (host.sys / "class/net/eth0/device").mkdir()
    assert host.of_devices(["eth0", "virtual"]) == ["eth0"]
