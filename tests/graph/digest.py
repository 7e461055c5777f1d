"""Prints the SHA-256 of small documents; run by a test in processes with different hash seeds."""

from __future__ import annotations

import hashlib
import sys

import msgspec

from .specimens import specimen

if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name, hashlib.sha256(msgspec.json.encode(specimen(name).document)).hexdigest())
