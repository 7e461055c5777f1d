"""What holds for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# As in the capture process: tensors are small, and a forked process cannot use the threads of the first. Read by torch
# when it is imported, which no module of the tests has done yet.
for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

# The same examples in each run, however slow the machine; `--hypothesis-profile=explore` looks for new ones.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None)
settings.load_profile("same")
