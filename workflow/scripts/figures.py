"""Figures of a sweep from its datasets and tables."""

from ssi_kernels.execute.console import Console
from ssi_kernels.execute.exits import one_line_errors
from ssi_kernels.execute.request import place
from ssi_kernels.report import draw_figures
from ssi_kernels.sweep import analyses, parse_config


def main(snakemake) -> None:
    with one_line_errors(), Console(snakemake.log[0]) as console:
        placed = place(parse_config(snakemake.config))[snakemake.params.sweep]
        folder = placed.folder
        figures = draw_figures(
            folder / "recovery.zarr",
            folder / "trajectories.zarr",
            folder / "tables",
            folder / "figures",
            analyses(placed.sweep),
        )
        console.say(f"sweep {placed.name}: figures {', '.join(figures)}")


main(snakemake)  # noqa: F821
