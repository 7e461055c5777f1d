from __future__ import annotations

import pytest

from openmodelatlas.capture import standins


@pytest.fixture
def installed():
    """All stand-ins importable for the length of one test."""
    standins.install()
    yield
    standins.uninstall()
