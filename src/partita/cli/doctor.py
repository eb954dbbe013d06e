"""partita doctor"""

import os
import platform
import shlex
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer

# The packages of pyproject.toml, which a test compares with it.
REQUIRED = (
    "torch", "numpy", "scipy", "scikit-learn", "threadpoolctl", "python-picard", "typer", "rich", "safetensors", "h5py",
    "pillow", "matplotlib", "jinja2", "pooch", "filelock", "platformdirs",
)  # fmt: skip
# What is missed without a package, and how to get it.
EXTRAS = {
    "lightgbm": ("DCI in a thirtieth of the time", 'pip install "partita[fast-metrics]"'),
    "pyarrow": ("reading .parquet files", 'pip install "partita[arrow]"'),
    "starlette": ("serving the explorer, with uvicorn", 'pip install "partita[explore]"'),
    "uvicorn": ("serving the explorer, with starlette", 'pip install "partita[explore]"'),
    "onnx": ("ONNX files and the explorer as one page, with onnxscript", 'pip install "partita[explore]"'),
    "onnxscript": ("ONNX files and the explorer as one page, with onnx", 'pip install "partita[explore]"'),
    "anywidget": ("pt.explore in a notebook", 'pip install "partita[explore]"'),
    "ray": ("training on a Ray cluster, --on ray", 'pip install "partita[ray]"'),
    "submitit": ("training by Slurm, --on slurm:...", 'pip install "partita[slurm]"'),
    "tensorboard": ("--track tensorboard", 'pip install "partita[tensorboard]"'),
    "wandb": ("--track wandb", 'pip install "partita[wandb]"'),
    "triton": ("on a GPU alone: kernels of our own, compiled steps", "comes with PyTorch for CUDA on Linux"),
    "pandas": ('set_output(transform="pandas")', "pip install pandas"),
}


def doctor(as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False) -> None:
    """Say what partita finds on this computer: versions, device, compiler, caches, memory, and what is missing for
    what. Exit status 1 when something that it needs does not work."""
    import json

    found = examine()
    print(json.dumps(found, indent=1) if as_json else "\n".join(_lines(found)))
    if found["problems"]:
        raise typer.Exit(1)


def examine() -> dict[str, Any]:
    """Everything that `partita doctor` says, as one dict of plain values; sizes are in bytes."""
    from partita import __version__

    problems: list[str] = []
    notes: list[str] = []
    versions = {name: _version(name) for name in REQUIRED}
    problems += [f"{name} is not installed: pip install {name}" for name, found in versions.items() if found is None]
    return {
        "partita": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "versions": versions,
        "device": _device(problems, notes),
        "compiler": _compiler(notes),
        "memory": _memory(),
        "caches": _caches(problems),
        "extras": [
            {"name": name, "version": _version(name), "for": purpose, "install": command}
            for name, (purpose, command) in EXTRAS.items()
        ],
        "notes": notes,
        "problems": problems,
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _device(problems: list[str], notes: list[str]) -> dict[str, Any]:
    """What device="auto" takes, and the GPUs there are, each tried with a small sum."""
    found: dict[str, Any] = {"auto": "cpu", "cores": os.cpu_count(), "threads": None, "cuda": None, "gpus": []}
    try:
        import torch

        found |= {"threads": torch.get_num_threads(), "cuda": torch.version.cuda}
        for k in range(torch.cuda.device_count()):
            free, total = torch.cuda.mem_get_info(k)
            torch.ones(2, device=f"cuda:{k}").sum().item()
            bf16 = torch.cuda.get_device_capability(k) >= (8, 0)
            name = torch.cuda.get_device_name(k)
            found["gpus"].append({"name": name, "memory": total, "free": free, "bf16": bf16})
            found["auto"] = "cuda"
    except (ImportError, OSError, RuntimeError) as error:
        problems.append(f"PyTorch does not work here: {_first_line(error)}")
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if busy > 1.5 * (found["cores"] or 1) and (found["threads"] or 1) > 1:
        notes.append(
            f"{busy:.0f} programs at a time want these {found['cores']} cores: threads that wait for each other are "
            "slower than one, set OMP_NUM_THREADS=1"
        )
    return found


def _compiler(notes: list[str]) -> dict[str, Any]:
    """The C compiler that makes the kernels for a CPU, and whether one of them was made and loaded just now."""
    command = shlex.split(os.environ.get("CC", "cc"))
    said, works = None, False
    try:
        asked = subprocess.run([*command, "--version"], check=True, capture_output=True, text=True, timeout=30)
        said = asked.stdout.splitlines()[0] if asked.stdout else command[0]
        from partita.kernels.build import library

        works = library("batch") is not None
    except (ImportError, OSError, RuntimeError, subprocess.SubprocessError):
        pass
    if not works:
        notes.append(
            "no C compiler that works: training on this CPU is slower, and its last digits are not those of other "
            "machines; install cc, gcc or clang, or name one by CC"
        )
    return {"cc": said, "kernels": works, "cxx": shutil.which(os.environ.get("CXX", "g++"))}


def _memory() -> dict[str, int | None]:
    from partita.data._memory import free_memory

    pages = {"SC_PAGE_SIZE", "SC_PHYS_PAGES"} <= set(getattr(os, "sysconf_names", ()))
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if pages else None
    return {"free": free_memory(), "total": total}


def _caches(problems: list[str]) -> list[dict[str, Any]]:
    """Folders that partita writes to by itself, or reads data sets from."""
    from partita.data._fetch import cache_folder

    own = cache_folder()
    compiled = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    places = {
        "kernels": own / "kernels",
        "compiled steps": Path(compiled) if compiled else own / "inductor",
        "data sets": own,
    }
    if os.environ.get("PARTITA_DATA"):
        places["PARTITA_DATA"] = Path(os.environ["PARTITA_DATA"]).expanduser()
        if not places["PARTITA_DATA"].is_dir():
            problems.append(
                f"PARTITA_DATA names {places['PARTITA_DATA']}, which is no folder: set it to one, or unset it"
            )
    inside = [folder for folder in places.values() if folder != own]
    return [
        {
            "name": name,
            "path": str(path),
            "bytes": _size(path, inside if path == own else []) if name != "PARTITA_DATA" else None,
            "writable": _writable(path),
        }
        for name, path in places.items()
    ]


def _size(folder: Path, without: list[Path]) -> int:
    """Of the files in it and below; what other processes remove meanwhile is not counted."""
    total = 0
    for path, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if Path(path, each) not in without]
        for name in names:
            try:
                total += os.lstat(os.path.join(path, name)).st_size
            except OSError:
                continue
    return total


def _writable(path: Path) -> bool:
    """Whether files could be put there: its nearest folder that exists decides."""
    there = next((each for each in (path, *path.parents) if each.exists()), path)
    return there.is_dir() and os.access(there, os.W_OK)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _lines(found: dict[str, Any]) -> list[str]:
    """The same for a person, a fact a line."""
    from partita.cli.data import amount

    device, compiler, memory = found["device"], found["compiler"], found["memory"]
    lines = [f"partita {found['partita']}, Python {found['python']}, {found['system']}"]
    lines.append("packages  " + ", ".join(f"{name} {number}" for name, number in found["versions"].items() if number))
    lines.append(f"device    {device['auto']}; {device['cores']} cores, PyTorch uses {device['threads']} threads")
    for gpu in device["gpus"]:
        room = f"{amount(gpu['free'])} of {amount(gpu['memory'])} free"
        lines.append(f"          {gpu['name']}, {room}, {'bf16' if gpu['bf16'] else 'no bf16'}")
    if not device["gpus"]:
        built = (
            f"PyTorch is built for CUDA {device['cuda']}" if device["cuda"] else "this PyTorch is built without CUDA"
        )
        lines.append(f"          no GPU: {built}")
    kernels = "kernels compiled and loaded" if compiler["kernels"] else "no kernels"
    lines.append(f"compiler  {compiler['cc'] or 'none'}; {kernels}")
    total = "" if memory["total"] is None else f" of {amount(memory['total'])}"
    lines.append(f"memory    {amount(memory['free'])} free{total}")
    for cache in found["caches"]:
        size = "" if cache["bytes"] is None else f", {amount(cache['bytes'])}"
        lines.append(f"cache     {cache['name']}: {cache['path']}{size}{'' if cache['writable'] else ', not writable'}")
    for extra in found["extras"]:
        state = extra["version"] or f"missing: {extra['install']}"
        lines.append(f"extra     {extra['name']} ({extra['for']}): {state}")
    lines += [f"note      {note}" for note in found["notes"]]
    lines += [f"PROBLEM   {problem}" for problem in found["problems"]]
    return lines if found["problems"] else [*lines, "everything that partita needs works"]
