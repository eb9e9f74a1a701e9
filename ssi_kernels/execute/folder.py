"""Where the files of a sweep, or of an entry of `theory`, are."""

from __future__ import annotations

import json
import time
from pathlib import Path

from ssi_kernels.store.atomic import write_bytes


class ResultFolder:
    """The paths that sweeps and entries of `theory` share; `results` and `name` are those of the subclass."""

    name: str
    results: Path

    @property
    def folder(self) -> Path:
        """The folder of this name."""
        return self.results / self.name

    @property
    def request(self) -> Path:
        """Asks for a run."""
        return self.folder / "request.json"

    @property
    def tables(self) -> Path:
        """The folder of tables."""
        return self.folder / "tables"

    @property
    def figures(self) -> Path:
        """The folder of figures."""
        return self.folder / "figures"

    @property
    def page(self) -> Path:
        """The report."""
        return self.folder / "report.html"


def write_json(path: Path, content: dict) -> None:
    """Writes `content` with the time, so that a rewritten file is never the same."""
    write_bytes(path, json.dumps({**content, "written_ns": time.time_ns()}, indent=1).encode())
