"""The package as a whole: one program, stubs that tell the truth, notebooks that run."""

import inspect
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import domio
from domio import _domio

ROOT = Path(__file__).resolve().parents[2]


def test_package_and_command_line_are_one_program(
    cli: Callable[..., Any], tmp_path: Path
) -> None:
    results = tmp_path / "r.sqlite"
    domio.run("small-host", replications=1, results=results)
    told = cli("results", "list", "--results", str(results), "--json")
    assert domio.__program__ in str(told)


def test_both_lock_files_have_the_same_libraries() -> None:
    """Results are known by the libraries of the workspace; the package is built with its own."""

    def versions(path: Path) -> dict[str, set[str]]:
        packages: dict[str, set[str]] = {}
        for package in tomllib.loads(path.read_text())["package"]:
            packages.setdefault(package["name"], set()).add(package["version"])
        return packages

    ours, theirs = versions(ROOT / "python/Cargo.lock"), versions(ROOT / "Cargo.lock")
    shared = set(ours) & set(theirs)
    assert len(shared) > 50
    strange = {name: ours[name] for name in shared if not ours[name] <= theirs[name]}
    # What only the package's own libraries need may be there in a second version.
    needed = {"serde", "serde_json", "rusqlite", "rayon", "toml", "tpe", "statrs", "libm"}
    assert not needed & set(strange), strange


def test_stubs_have_what_the_native_part_has() -> None:
    stub = (Path(domio.__file__).parent / "_domio.pyi").read_text()
    names = set(re.findall(r"^(?:class|def) (\w+)", stub, re.M))
    names |= set(re.findall(r"^(\w+): str", stub, re.M))
    native = {name for name in dir(_domio) if not name.startswith("__")} | {"__version__"}
    assert native == names
    for name in ("Scenario", "Table", "TraceStream", "Host", "Sweep"):
        body = stub.split(f"class {name}:", 1)[1].split("\n@final", 1)[0].split("\ndef ", 1)[0]
        told = set(re.findall(r"    def (\w+)", body))
        own = {n for n in vars(getattr(_domio, name)) if not n.startswith("_")}
        assert own == {n for n in told if not n.startswith("_")}, name


def test_everything_public_has_a_docstring() -> None:
    for name in domio.__all__:
        what = getattr(domio, name)
        if not inspect.isclass(what) and not callable(what):
            continue
        assert what.__doc__, name


def test_the_page_tells_what_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    assert len(blocks) == 2
    readme = (ROOT / "python/README.md").read_text()
    blocks += re.findall(r"^```python\n(.*?)^```$", readme, re.M | re.S)
    names: dict[str, Any] = {}
    for block in blocks:
        # What the page shows takes a minute; a second of host time shows that it works.
        short = re.sub(r'(Scenario\.load\("[\w-]+"\))', r'\1.with_(**{"run.duration_s": 1})', block)
        exec(short, names)  # noqa: S102


@pytest.mark.slow
@pytest.mark.parametrize(
    "notebook", sorted((ROOT / "python/notebooks").glob("*.ipynb")), ids=lambda p: p.stem
)
def test_notebooks_run(notebook: Path, tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    read = nbformat.read(notebook, as_version=4)  # type: ignore[no-untyped-call]
    assert not any(cell.get("outputs") for cell in read.cells), "outputs are not kept"
    client = NotebookClient(
        read, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    shown = [str(o.get("data", "")) for c in read.cells for o in c.get("outputs", [])]
    assert any("vegalite" in one or "vegaEmbed" in one for one in shown), "a figure is drawn"


def test_there_are_three_notebooks() -> None:
    assert len(list((ROOT / "python/notebooks").glob("*.ipynb"))) == 3
