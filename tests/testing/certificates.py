"""Certificates for tests: see make_certificates.sh, which makes them."""

from __future__ import annotations

import subprocess
from pathlib import Path

_PROGRAM = Path(__file__).resolve().parent / "make_certificates.sh"


class Certificates:
    """Authorities and certificates in a folder that is there."""

    def __init__(self, folder: Path) -> None:
        """Makes them, which takes a fifth of a second."""
        subprocess.run([_PROGRAM, folder], check=True)
        self._folder = folder

    def pem(self, name: str) -> Path:
        """The certificate of that name."""
        return self._folder / f"{name}.pem"

    def key(self, name: str) -> Path:
        """Its key."""
        return self._folder / f"{name}.key"
