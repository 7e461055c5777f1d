"""``oma verify``: whether an atlas still says what its sources and values say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from openmodelatlas.cli.locate import MODEL_HELP, open_page
from openmodelatlas.cli.progress import Reporter

if TYPE_CHECKING:
    from openmodelatlas.verification.coverage import Coverage
    from openmodelatlas.verification.verify import Verification

DRIFTED = 1
_SHOWN = 40


@click.command("verify", short_help="Check an atlas against its sources and values.", epilog=MODEL_HELP)
@click.argument("models", metavar="MODEL…", nargs=-1, required=True)
@click.option("--report", "as_report", is_flag=True, help="Tell what the knowledge covers instead.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(models: tuple[str, ...], as_report: bool, as_json: bool) -> int:
    """Read the cited files again, hash them, and evaluate every shape and formula of MODELs on the captured values.

    The exit code is 1 if anything differs from what the atlas says; each difference is listed.

    \b
    Examples:
      oma verify kimi-k2
      oma verify kimi-k2 kimi-k3 --report
    """
    atlases = [open_page(model, None)[0] for model in models]
    if as_report:
        from openmodelatlas.verification.coverage import coverage

        reports = [coverage(atlas) for atlas in atlases]
        if as_json:
            from openmodelatlas.cli.settings import write_json

            write_json(reports)
        else:
            for each in reports:
                _tell_coverage(each)
        return 0
    from openmodelatlas.verification.verify import verify

    with Reporter() as report:
        found = [verify(atlas, report) for atlas in atlases]
    if as_json:
        from openmodelatlas.cli.settings import write_json

        write_json(found)
    else:
        for result in found:
            _tell(result)
    return DRIFTED if any(result.drifts for result in found) else 0


def _tell(result: Verification) -> None:
    counted = (
        f"{result.files:,} files, {result.claims:,} claims, {result.shapes:,} dimensions, "
        f"{result.formulas:,} formulas, {result.diagrams:,} diagrams"
    )
    if not result.drifts:
        click.echo(f"{click.style('ok', fg='green')}  {result.model}: {counted}")
    else:
        number = len(result.drifts)
        differences = "1 difference" if number == 1 else f"{number:,} differences"
        click.echo(f"{click.style('DRIFT', fg='red')}  {result.model}: {differences}; checked: {counted}")
        for drift in result.drifts[:_SHOWN]:
            click.echo(_line(f"  {drift.kind:9} {drift.where or 'the model'}: {drift.text}"))
        if len(result.drifts) > _SHOWN:
            click.echo(f"  and {len(result.drifts) - _SHOWN:,} more (--json lists all)")
    if result.not_at_hand:
        first = f"  not at hand on this machine: {len(result.not_at_hand):,}, the first is {result.not_at_hand[0]}"
        click.echo(_line(first))


def _tell_coverage(report: Coverage) -> None:
    click.echo(click.style(report.model, bold=True))
    for share in report.shares:
        percent = 100.0 * share.have / share.total if share.total else 100.0
        click.echo(f"  {percent:6.2f} %  {share.have:>7,} of {share.total:>7,}  {share.what}")
    if report.worst_error is not None:
        click.echo(f"  largest relative error of an operation's formula that holds: {report.worst_error:.1e}")
    if report.worst_chain is not None:
        click.echo(f"  the same with mechanisms and compositions of many operations: {report.worst_chain:.1e}")
    click.echo(f"  formulas that do not hold: {len(report.differing):,}")
    for address in report.differing[:_SHOWN]:
        click.echo(_line(f"    {address}"))
    click.echo(f"  claims without lines: {report.claims_without_lines:,}")
    click.echo(f"  not matched: {len(report.unmatched):,}")
    for text in report.unmatched[:_SHOWN]:
        click.echo(_line(f"    {text}"))


def _line(text: str) -> str:
    """One line, whatever a stranger's names have in them."""
    from openmodelatlas.site.visible import visible

    return visible(text).replace("\n", "␊")
