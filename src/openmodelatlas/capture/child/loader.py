"""Which loader a job's source kind takes."""

from __future__ import annotations

from openmodelatlas.capture.child.factories import factory_subject
from openmodelatlas.capture.child.subject import Subject
from openmodelatlas.capture.job import Job
from openmodelatlas.errors import UsageError


def load(job: Job) -> Subject:
    """Import the code that ``job`` names.

    Raises:
        UsageError: unknown source kind.
        SourceError, CaptureError: see the loaders.
    """
    if job.kind in ("factory", "reference"):
        return factory_subject(job)
    from openmodelatlas.capture.child.huggingface import remote_subject, transformers_subject

    if job.kind in ("hub", "folder"):
        return remote_subject(job)
    if job.kind == "transformers":
        return transformers_subject(job)
    raise UsageError(f"There is no source kind {job.kind!r}.")
