"""The command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from datagen.commands.about import backends, version
from datagen.commands.errors import reports_errors
from datagen.commands.options import Packages, Roots
from datagen.errors import ConfigError
from datagen.interrupts import interrupts_held

SCENE_REFUSED = 3
AUDIT_FAILED = 5

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Labelled, path-traced, reproducible image datasets for robot policies.",
    epilog="Exit codes: 0 done, 2 wrong command line or config, 3 scene refused, "
    "4 run failed, 5 audit found differences, 130 interrupted (Ctrl-C), 143 terminated.",
)


@app.callback()
def options(
    context: typer.Context,
    show_traceback: Annotated[
        bool, typer.Option("--traceback", help="On an error, also show where it came from.")
    ] = False,
) -> None:
    """Labelled, path-traced, reproducible image datasets for robot policies."""
    context.obj = show_traceback


@app.command()
@reports_errors
def run(
    context: typer.Context,
    config: Annotated[Path, typer.Argument(help="YAML file.", show_default=False)],
    output: Annotated[
        Path | None, typer.Option(help="Run folder, in place of the config's.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(help="Make only the first N rows, rounded up to whole frames.", metavar="N"),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes that render.", metavar="N")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of every random draw.")] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Set a value of the config, such as mitsuba.spp=64 or "
            "'scenes.0.libero.tasks=[0,1]'; may be repeated.",
        ),
    ] = None,
) -> None:
    """Make the dataset that CONFIG describes; a run that was stopped goes on."""
    with interrupts_held():
        from datagen.configuration.config import load_config

    named = {"output": output, "limit": limit, "workers": workers, "seed": seed}
    settings = load_config(
        config,
        overrides or (),
        {
            key: str(value) if isinstance(value, Path) else value
            for key, value in named.items()
            if value is not None
        },
    )

    with interrupts_held():
        from datagen.progress import TerminalProgress
        from datagen.run import pipeline

    with TerminalProgress() as progress:
        summary = pipeline.run(settings, progress)
    for line in summary.lines():
        typer.echo(line)
    if summary.refused:
        raise typer.Exit(SCENE_REFUSED)


@app.command()
@reports_errors
def scenes(
    context: typer.Context,
    suite: Annotated[
        str | None,
        typer.Argument(
            metavar="[SUITE|SUITE/TASK|FILE]",
            help="LIBERO suite, one of its tasks by index or name, or an MJCF, URDF or USD file.",
            show_default=False,
        ),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Write a quick picture of the scene.")
    ] = None,
    camera: Annotated[str | None, typer.Option(help="Camera of the picture.")] = None,
    roots: Roots = None,
    packages: Packages = None,
    keyframe: Annotated[
        str | None, typer.Option(help="MJCF: keyframe that says where everything stands.")
    ] = None,
) -> None:
    """List LIBERO's suites, the tasks of SUITE with their language, or what one scene holds."""
    if suite is not None and ("/" in suite or "." in suite):
        from datagen.commands.scenes import list_scene

        for line in list_scene(suite, picture, camera, roots or (), packages or (), keyframe):
            typer.echo(line)
        return
    if any((picture, camera, roots, packages, keyframe)):
        raise ConfigError(
            "--picture, --camera, --root, --package, --keyframe: they go with one scene: "
            "SUITE/TASK or a file."
        )
    from datagen.commands.suites import list_suites

    for line in list_suites(suite):
        typer.echo(line)


@app.command()
@reports_errors
def convert(
    context: typer.Context,
    scene: Annotated[Path, typer.Argument(metavar="SCENE", help="MJCF, URDF or USD file.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for the USD stage.")],
    roots: Roots = None,
    packages: Packages = None,
    tessellation: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=16,
            metavar="N",
            help="MJCF, URDF: cut round shapes N times as finely as MuJoCo would, 2 to 16.",
        ),
    ] = None,
    up_axis: Annotated[
        Literal["Y", "Z"] | None,
        typer.Option(help="USD: axis that points up, where the stage does not say it."),
    ] = None,
    meters_per_unit: Annotated[
        float | None, typer.Option(help="USD: unit [m], where the stage does not say it.")
    ] = None,
    collision: Annotated[
        Literal["boxes", "body_box", "object_box", "hull"],
        typer.Option(help="What stands for the geoms that collide."),
    ] = "boxes",
    materials: Annotated[
        Literal["mujoco", "physical"],
        typer.Option(help="Highlights as strong as MuJoCo's, or as those of plastic."),
    ] = "physical",
    timeout: Annotated[
        float, typer.Option(min=0.1, max=1e6, metavar="S", help="Longest time [s].")
    ] = 300.0,
    memory: Annotated[
        float | None,
        typer.Option(
            min=0.5,
            max=1e6,
            metavar="GIB",
            help="Most memory [GiB]; by default 8, or half of the machine's.",
        ),
    ] = None,
) -> None:
    """Convert an MJCF, URDF or USD file to a labelled USD stage with a MuJoCo model.

    A report tells what became of each element.
    """
    from datagen.commands.convert import convert_file
    from scenes.sources.limits import ConversionLimits

    given = {} if memory is None else {"memory": memory}
    limits = ConversionLimits(timeout=timeout, **given)
    options = {
        "tessellation": tessellation,
        "up_axis": up_axis,
        "meters_per_unit": meters_per_unit,
    }
    for line in convert_file(
        scene, out, roots or (), packages or (), collision, materials, options, limits
    ):
        typer.echo(line)


@app.command()
@reports_errors
def inspect(
    context: typer.Context,
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder.")],
    page: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the page there, not as report.html in RUN."),
    ] = None,
) -> None:
    """Show what a run holds, finished or not, in the terminal and as a page."""
    from datagen.report import inspect as inspect_run

    inspect_run(run_folder, page=page)


@app.command()
@reports_errors
def audit(
    context: typer.Context,
    config: Annotated[Path | None, typer.Argument(help="YAML file.", show_default=False)] = None,
    run_folder: Annotated[
        Path | None,
        typer.Option("--run", metavar="RUN", help="Look at rows of this finished run instead."),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Views of the run, evenly chosen; 20 if not given."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder of the page, JSON and CSV; by default audit in the run folder."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Only the config's first N views, rounded up to whole frames."
        ),
    ] = None,
    save_baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep what every backend shows now.")
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Compare each backend with what a baseline keeps of it."),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Set a value of the config, such as audit.thresholds.ids.agreement.min=0.99; "
            "may be repeated.",
        ),
    ] = None,
) -> None:
    """Compare renderers on the same samples, pixel by pixel; exit code 5 where they differ.

    Where a scene was refused it is 3 all the same: the comparison is not complete.
    """
    from datagen.audit.command import audit_command

    results, lines = audit_command(
        config,
        run=run_folder,
        rows=rows,
        overrides=overrides or (),
        output=output,
        limit=limit,
        save_baseline=save_baseline,
        against=against,
    )
    for line in lines:
        typer.echo(line)
    if results.refused:
        raise typer.Exit(SCENE_REFUSED)
    if not results.passed:
        raise typer.Exit(AUDIT_FAILED)


app.command()(reports_errors(backends))
app.command()(reports_errors(version))


def main() -> None:
    """Run the command line; it ends the process."""
    app()
