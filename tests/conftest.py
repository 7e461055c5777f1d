"""What holds for all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from openmodelatlas import build
from openmodelatlas.bundle import store
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.bundle.home import list_built, model_folder
from openmodelatlas.errors import AtlasError

# As in the capture process: tensors are small, and a forked process cannot use the threads of the first. Read by torch
# when it is imported, which no module of the tests has done yet.
for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

# A shell starts what runs in its background with interruption ignored, and so would everything that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A mistake in annotation or drawing is noted in the atlas of a user; here it is raised, in child processes as well.
os.environ["OMA_STRICT"] = "1"

# The same examples in each run, however slow the machine; `--hypothesis-profile=explore` looks for new ones.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None)
settings.load_profile("same")


@pytest.fixture(scope="session")
def atlas_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Atlas]:
    """The atlas of a registry model, built when the first test asks for it.

    ``OMA_TEST_HOME`` names a home that has some already, for whoever works on the pages.
    """
    home = tmp_path_factory.mktemp("registry-home")
    given = os.environ.get("OMA_TEST_HOME") if not os.environ.get("CI") else None
    found: dict[str, Atlas | AtlasError] = {}

    def atlas(model: str) -> Atlas:
        if model not in found:
            there = given is not None and model in list_built(Path(given))
            try:
                found[model] = store.read(model_folder(Path(given or ""), model)) if there else build(model, home=home)
            except AtlasError as error:  # remembered, so that it is not tried again for each test
                found[model] = error
        result = found[model]
        if isinstance(result, AtlasError):
            raise result
        return result

    return atlas
