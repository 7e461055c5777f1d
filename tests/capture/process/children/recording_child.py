"""Writes the recording that the job's configuration holds, as a capture child would."""

import json
import sys
from pathlib import Path

job = json.loads(Path(sys.argv[1]).read_text())
output = Path(job["output"])
(output / "recording-a.json").write_text(job["configuration"]["recording"])
header = json.dumps({"1": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}}).encode()
(output / "values.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"x" * 12)
summary = {
    "format": 4,
    "python": "3",
    "torch": "2",
    "transformers": "",
    "effective_configuration": {},
    "choices": [],
    "parameters": [],
    "parameters_failure": None,
    "seconds": {},
    "notes": ["a note"],
}
(output / "summary.json").write_text(json.dumps(summary))
