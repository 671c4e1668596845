"""Makes `base.tar`: a minimal Debian with this machine's package sources and certificates."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.compose.engine import debian_mirror

_RELEASE = "bookworm"
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_DEBOOTSTRAP_TIMEOUT_S = 240
_TAR_TIMEOUT_S = 60
# Debian's packaging of documents and caches that no image needs.
_LEFT_OUT = ("usr/share/doc", "usr/share/man", "usr/share/locale", "var/cache/apt", "var/lib/apt/lists")


def main() -> None:
    """Writes `base.tar` below the folder given."""
    folder = Path(sys.argv[1])
    tarball, root = folder / "base.tar", folder / "base"
    if tarball.exists():
        return
    shutil.rmtree(root, ignore_errors=True)
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin", "DEBIAN_FRONTEND": "noninteractive"}
    command = ["debootstrap", "--variant=minbase", "--include=ca-certificates", _RELEASE, str(root), debian_mirror()]
    with (folder / "debootstrap.log").open("wb") as log:
        subprocess.run(
            command,
            check=True,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            timeout=_DEBOOTSTRAP_TIMEOUT_S,
        )
    _take_sources(root)
    _take_certificates(root)
    for name in _LEFT_OUT:
        shutil.rmtree(root / name)
        (root / name).mkdir()
    (root / "var/lib/apt/lists/partial").mkdir()
    (root / "var/cache/apt/archives/partial").mkdir(parents=True)
    partial = tarball.with_suffix(".partial")
    subprocess.run(
        ["tar", "-C", str(root), "-cf", str(partial), "."], check=True, env=environment, timeout=_TAR_TIMEOUT_S
    )
    partial.rename(tarball)
    shutil.rmtree(root)


def _take_sources(root: Path) -> None:
    """The suites of Debian itself; an image gets the same security updates as the machine."""
    mirror = debian_mirror()
    security = f"{mirror.removesuffix('/debian')}/debian-security"
    suites = [f"deb {mirror} {_RELEASE} main", f"deb {mirror} {_RELEASE}-updates main"]
    suites.append(f"deb {security} {_RELEASE}-security main")
    (root / "etc/apt/sources.list").write_text("\n".join(suites) + "\n")


def _take_certificates(root: Path) -> None:
    shutil.copytree("/usr/local/share/ca-certificates", root / "usr/local/share/ca-certificates", dirs_exist_ok=True)
    if _CERTIFICATES.exists():
        shutil.copy(_CERTIFICATES, root / _CERTIFICATES.relative_to("/"))


if __name__ == "__main__":
    main()
