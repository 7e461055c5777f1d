"""``oma doctor``: what this machine can do."""

from __future__ import annotations

import click

from openmodelatlas.bundle.home import home
from openmodelatlas.capture.doctor import DoctorCheck, checks
from openmodelatlas.capture.job import Progress
from openmodelatlas.cli.progress import Reporter

_MARKS = {True: ("ok", "green"), False: ("MISSING", "red"), None: ("-", "yellow")}


@click.command("doctor", short_help="Tell what this machine can do, and how to mend what is missing.")
@click.option("--json", "as_json", is_flag=True, help="The checks as JSON.")
def command(as_json: bool) -> int:
    """Look at everything a build needs: torch, transformers, overlays, the sandbox, the hub, disk space.

    Each line that is not well says how to mend it. The exit code is 1 if something is missing that a build needs.

    \b
    Examples:
      oma doctor
      oma doctor --json
    """
    with Reporter() as report:
        report(Progress("Looking at Python, torch, transformers and the sandbox", 0, 0))
        found = checks(home())
        report(Progress("Asking the hub", 0, 0))
        found.append(check_hub())
    if as_json:
        from openmodelatlas.cli.settings import write_json

        write_json(found)
    else:
        width = max(len(check.name) for check in found)
        for check in found:
            word, colour = _MARKS[check.ok]
            click.echo(click.style(f"{word:8}", fg=colour) + f"{check.name:{width}}  {check.detail}")
            if check.advice:
                click.echo(f"{'':8}{'':{width}}  → {check.advice}")
    return 1 if any(check.ok is False for check in found) else 0


def check_hub() -> DoctorCheck:
    """Whether the hub answers. It is not missed where every model has a source on this machine."""
    from openmodelatlas.sources.hub import endpoint, hub_fault, is_offline

    if is_offline():
        detail = "offline mode is on (HF_HUB_OFFLINE): only what is cached can be used"
        return DoctorCheck(name="hub", ok=None, detail=detail, advice="Unset HF_HUB_OFFLINE to ask the hub.")
    fault = hub_fault()
    if fault is None:
        return DoctorCheck(name="hub", ok=True, detail=f"{endpoint()} answers")
    return DoctorCheck(
        name="hub",
        ok=None,
        detail=f"{fault.rstrip('.')}; registered models fall back to their next source",
        advice="Check the network and HF_ENDPOINT.",
    )
