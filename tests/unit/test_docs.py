"""What the documentation says is so: snippets run, configurations are valid, links and names lead somewhere."""

import re
import shlex
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from packaging.requirements import Requirement

from ssi_kernels.errors import ConfigError
from ssi_kernels.sweep import parse_config

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
OTHER_PAGES = [ROOT / "CHANGELOG.md", ROOT / "config" / "README.md", ROOT / "results" / "README.md"]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"# file: (\S+)\n")

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
pythons = pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])


@cache
def blocks(page, language):
    """Fenced blocks of one language: (line of their first line, text)."""
    text = page.read_text(encoding="utf-8")
    found = FENCE.finditer(text)
    return [(text.count("\n", 0, match.start(2)) + 1, match[2]) for match in found if match[1] == language]


def commands(page):
    """The lines of shell blocks as words, without comments and the path of the program; `a && b` is two."""
    lines = (line for _, text in blocks(page, "bash") for line in text.splitlines())
    parts = (part for line in lines for part in line.split("&&"))
    words = (shlex.split(part, comments=True) for part in parts)
    return [[w[0].removeprefix(".venv/bin/"), *w[1:]] for w in words if w]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A tiny stand-in for the sweep `transition` of the quickstart."""
    from ssi_kernels.execute.batch import run_task
    from ssi_kernels.execute.packing import pack
    from ssi_kernels.execute.request import place
    from ssi_kernels.store import consolidate, write_segment

    config = yaml.safe_load((ROOT / "config" / "quickstart.yaml").read_text(encoding="utf-8"))
    sweep = config["sweeps"]["transition"]
    sweep["grid"]["omega"] = [0.3, 0.6]
    sweep["sgd"] |= {"steps": 50, "replicas": 2}
    placed = place(parse_config({"sweeps": {"transition": sweep}}), tmp_path_factory.mktemp("docs") / "results")
    placed = placed["transition"]
    for task in pack(placed.missing(), 1):
        write_segment(placed.store, run_task(task))
    consolidate(placed.sweep, placed.grid, placed.store, placed.folder)
    return placed.results


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder like that of a checkout, to which the process has moved."""
    (tmp_path / "config").symlink_to(ROOT / "config")
    (tmp_path / "my_sweeps.yaml").write_text((ROOT / "config" / "smoke.yaml").read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def write_files(page, folder):
    """The snippets that are files: their first line says which."""
    for _, code in blocks(page, "python"):
        if match := FILE_NAME.match(code):
            (folder / match[1]).write_text(code, encoding="utf-8")


@pages
def test_python_snippets_run(page, folder, results):
    (folder / "results").symlink_to(results)
    write_files(page, folder)
    names = {"__name__": "snippet"}
    for line, code in blocks(page, "python"):
        if not FILE_NAME.match(code):
            exec(compile("\n" * (line - 1) + code, str(page), "exec"), names)


ATTENTION = {
    "model": {
        "target": {"family": "positional-semantic"},
        "student": {"kind": "attention"},
        "encoding": "opposite-pair",
    },
    "grid": {"d": 100, "length": 2, "omega": 0.5, "a": 1.0},
    "sgd": {"learning_rate": 0.1, "steps": 1000},
}


@pages
def test_configurations_are_valid(page, folder):
    """Each is a whole file, or sections of a sweep that replace those of a complete one."""
    write_files(page, folder)
    for line, text in blocks(page, "yaml"):
        written = yaml.safe_load(text)
        whole = written if {"sweeps", "theory"} & written.keys() else {"sweeps": {"example": {**ATTENTION, **written}}}
        try:
            parse_config(whole)
        except ConfigError as error:
            pytest.fail(f"{page.name}, line {line}: {error}")


@pages
def test_commands_of_ssi_run(page, folder, results):
    from ssi_kernels.cli import cli

    (folder / "results").symlink_to(results)
    for program, *arguments in commands(page):
        if program == "ssi":
            answer = CliRunner().invoke(cli, arguments, standalone_mode=False)
            assert answer.exception is None, (page.name, arguments, answer.exception)


@pages
def test_commands_of_snakemake_parse(page, folder):
    """In particular no target is taken for a configuration file."""
    from snakemake.cli import get_argument_parser

    for program, *arguments in commands(page):
        if program == "snakemake":
            parsed = get_argument_parser().parse_args(arguments)
            assert all(Path(file).exists() for file in parsed.configfile or ()), (page.name, arguments)


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES + OTHER_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {link}"
        assert not anchor or anchor in anchors(target), f"{page.name}: {link}"


@pytest.mark.parametrize("page", PAGES + OTHER_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_are_named_exist(page):
    named = re.findall(r"`((?:ssi_kernels|tests|config|docs|workflow|profiles)/[\w./-]+)`", page.read_text("utf-8"))
    missing = [name for name in named if not (ROOT / name).exists()]
    assert not missing


def tracked():
    """Files that are, or would be, under version control."""
    asked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


HOSTS = ("py" + "pi.org", "python" + "hosted", "anaconda" + ".", "npm" + "js", "pytorch" + ".org", "conda-forge" + ".")
NAMESPACES = ("json-schema.org", "www.w3.org")  # names that look like addresses; nothing is fetched from them


def test_no_file_names_a_registry_or_an_address():
    for path in tracked():
        text = path.read_bytes().decode("utf-8", errors="ignore")
        assert not [host for host in HOSTS if host in text], path
        addresses = re.findall(r"https?" + r"://([^/\s\"'<>)]*)", text)
        assert set(addresses) <= set(NAMESPACES), path


def pins(python):
    """The pinned version of each package for one version of Python."""
    environment = {"python_version": python, "python_full_version": f"{python}.0"}
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    requirements = [Requirement(line) for line in lines if line and not line.startswith("#")]
    applying = [r for r in requirements if r.marker is None or r.marker.evaluate(environment)]
    assert len({r.name for r in applying}) == len(applying)
    for requirement in applying:
        assert re.fullmatch(r"==[\w.]+", str(requirement.specifier)), requirement
    return {r.name: str(r.specifier).removeprefix("==") for r in applying}


@pythons
def test_every_dependency_is_pinned(python):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = project["dependencies"] + project["optional-dependencies"]["test"]
    pinned = pins(python)
    for requirement in map(Requirement, needed):
        assert pinned[requirement.name.lower()] in requirement.specifier, requirement
    assert not {"torch", "ssi-kernels"} & set(pinned)


def test_citation_and_changelog_are_of_this_version():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert str(citation["version"]) == version
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
