"""The shape of the house: what may be imported when, what a file may be called, and that there are no cycles."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "partita"
MODULES = sorted(SOURCE.rglob("*.py"))


def loaded_after(statement: str) -> set[str]:
    program = f"{statement}\nimport sys\nprint(' '.join(m for m in sys.modules if '.' not in m))"
    return set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    )


def test_importing_partita_loads_nothing_heavy():
    assert not loaded_after("import partita") & {"sklearn", "matplotlib", "torch", "scipy", "pandas"}


def test_help_does_not_load_torch():
    program = (
        "import sys\nfrom partita.cli.main import main\nsys.argv = ['partita', '--help']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code"
    )
    assert not loaded_after(program) & {"torch", "sklearn", "matplotlib", "scipy", "numpy"}


def test_listing_data_does_not_load_torch():
    assert not loaded_after("import partita.data") & {"torch", "sklearn", "matplotlib"}


@pytest.mark.parametrize("name", ["utils", "util", "helpers", "helper", "common", "misc", "base", "core"])
def test_no_catch_all_module(name):
    assert not [path for path in MODULES if name in (path.stem, path.parent.name)]


def test_no_import_cycle():
    graph = {_name(path): _imports(path) for path in MODULES}
    finished: set[str] = set()

    def visit(module: str, above: tuple[str, ...]) -> None:
        assert module not in above, " -> ".join((*above, module))
        if module in finished:
            return
        for imported in graph.get(module, ()):
            visit(imported, (*above, module))
        finished.add(module)

    for module in graph:
        visit(module, ())


def test_files_stay_readable():
    long = {str(path.relative_to(SOURCE)): n for path in MODULES if (n := len(path.read_text().splitlines())) > 300}
    assert not long


def _name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(path: Path) -> set[str]:
    """Modules of ours imported at the top level of a file; a package counts only when its own names are asked for."""
    found = set()
    known = {_name(other) for other in MODULES}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("partita"):
            full = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            found |= {full[name] if full[name] in known else str(node.module) for name in full}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("partita")}
    return found


PUBLIC_ROOMS = [
    "data",
    "distributions",
    "estimator",
    "explorer",
    "measures",
    "metrics",
    "networks",
    "plot",
    "recipes",
    "reports",
    "structure",
    "studies",
]
# Modules with plain names whose content is named by a registry, or by an option of `recipes.build`.
NAMED_ELSEWHERE = {"auto_groups", "restarts", "unmixed"}


@pytest.mark.parametrize("room", PUBLIC_ROOMS)
def test_public_and_private_modules_can_be_told_apart(room):
    """`__all__` comes first; a module without an underscore holds a public name, or an entry of a registry."""
    package = importlib.import_module(f"partita.{room}")
    source = (SOURCE / room / "__init__.py").read_text()
    assert source.index("__all__") < source.index("\nfrom "), "what is public is listed first"
    by_name = set(package.__all__)
    registered = set()
    if room == "recipes":
        registered = {method.__module__ for method in package.RECIPES.values()}
    if room == "data":
        registered = {data.load.__module__ for data in package.DATASETS.values()}
    for path in (SOURCE / room).glob("[!_]*.py"):
        tree = ast.parse(path.read_text())
        own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        own |= {
            t.id for node in tree.body if isinstance(node, ast.Assign) for t in node.targets if isinstance(t, ast.Name)
        }
        own |= {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
        known = f"partita.{room}.{path.stem}" in registered or (room == "recipes" and path.stem in NAMED_ELSEWHERE)
        assert known or own & by_name, f"{room}/{path.name} holds nothing public: give it an underscore"
