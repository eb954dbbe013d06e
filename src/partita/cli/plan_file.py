"""A whole study as a TOML file: what `partita train --plan` reads, and what `partita train` writes of any command line.

A plan is the command line in a file: its keys are the flags of `partita train` that say what is trained, and every
method has a table with flags of its own. Flags that say where and how it runs are no part of it.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Flags of the command that are no part of a study.
ELSEWHERE = (
    "plan",
    "out",
    "device",
    "checkpoint_seconds",
    "split",
    "resume",
    "track",
    "on",
    "detach",
    "models_at_once",
)
HEAD = "# partita train --plan study.toml trains this study; --out, --device and the like stay on the command line.\n"


@dataclass(frozen=True)
class PlanFile:
    """A plan as flags: those of the study by name, and for each method its name and its own. `lines` says in which line
    of the file each key is: ("steps",), ("methods", 0, "beta")."""

    path: Path
    flags: Mapping[str, str]
    methods: Sequence[tuple[str, Mapping[str, str]]]
    lines: Mapping[tuple, int]

    def words(self) -> list[str]:
        """The command line that it stands for, without the methods' own flags."""
        flags = [word for name, text in self.flags.items() for word in (f"--{name.replace('_', '-')}", text)]
        return [",".join(name for name, _ in self.methods), *flags]

    def own_words(self, place: int) -> list[str]:
        """The flags of one method."""
        return [word for name, text in self.methods[place][1].items() for word in (f"--{name}", text)]

    def refusal(self, message: str, place: int | None = None) -> ValueError:
        """What was wrong, with the line of the key that the message names: of this method, or else of the study."""
        words = set(re.findall(r"\w+", re.sub(r"(?<=\w)-(?=\w)", "_", message)))
        own = [] if place is None else [("methods", place, name) for name in self.methods[place][1]]
        whose = range(len(self.methods)) if place is None else [place]
        keys = [key for key in (*own, *((name,) for name in self.flags)) if key[-1] in words]
        keys += [("methods", i, "name") for i in whose if place is not None or self.methods[i][0] in message]
        keys += [("methods", i) for i in whose if place is not None]
        line = next((self.lines[key] for key in keys if key in self.lines), None)
        return ValueError(message if line is None else f"{self.path}, line {line}: {message}")


def read_plan(path: Path, known: Sequence[str]) -> PlanFile:
    """ValueError, with the line, where the file is no plan. `known` are the names of the flags of the command."""
    text = _text(path)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"^(.*) \(at line (\d+), column \d+\)$", str(error))
        said = f", line {found[2]}: {found[1]}" if found else f": {error}"
        raise ValueError(f"{path}{said}") from None
    lines = _lines(text)
    flags: dict[str, str] = {}
    for key, value in content.items():
        name, line = key.replace("-", "_"), lines.get((key,), 1)
        if name == "methods":
            continue
        _check_key(name, path, line, [each for each in known if each not in ELSEWHERE and each != "method"])
        flags[name] = _as_flag(value, f"{path}, line {line}: {key}")
    methods = _methods(content.get("methods"), path, lines)
    if "data" not in flags:
        raise ValueError(f'{path}: data is missing: write data = "groups", or a path')
    named = {tuple(part.replace("-", "_") if isinstance(part, str) else part for part in key): n
             for key, n in lines.items()}  # fmt: skip
    return PlanFile(path, flags, methods, named)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no text: a plan is a TOML file") from None
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}; --plan takes a TOML file, such as DIR/study.toml") from None


def _check_key(name: str, path: Path, line: int, known: Sequence[str]) -> None:
    from partita.data._nearest import nearest

    if name in ELSEWHERE:
        flag = name.replace("_", "-")
        raise ValueError(f"{path}, line {line}: {name} is no part of a study: give --{flag} on the command line")
    if name not in known:
        names = ["methods", *known]
        raise ValueError(
            f"{path}, line {line}: a study has no {name!r}{nearest(name, names)}; it has {', '.join(sorted(names))}; "
            "what belongs to a method stands in its [[methods]] table"
        )


def _methods(found: Any, path: Path, lines: Mapping[tuple, int]) -> list[tuple[str, dict[str, str]]]:
    """Names and flags, from `methods = ["vae", "pdisvae"]` or tables `[[methods]]`."""
    line = lines.get(("methods",), lines.get(("methods", 0)))
    where = f"{path}{'' if line is None else f', line {line}'}"
    if not isinstance(found, list) or not found:
        raise ValueError(f'{where}: methods are missing: write methods = ["vae"], or tables [[methods]] with a name')
    methods = []
    for place, table in enumerate(found):
        at = f"{path}, line {lines.get(('methods', place), line)}"
        table = {"name": table} if isinstance(table, str) else table
        if not isinstance(table, dict) or not isinstance(table.get("name"), str) or not table["name"]:
            raise ValueError(f'{at}: a method has a name: write name = "vae"')
        own = {}
        for key, value in table.items():
            if key != "name":
                line_of = f"{path}, line {lines.get(('methods', place, key), lines.get(('methods', place), line))}"
                own[key.replace("-", "_")] = _as_flag(value, f"{line_of}: {key}")
        methods.append((table["name"], own))
    return methods


def _as_flag(value: Any, where: str) -> str:
    """A value as it is typed on the command line."""
    if isinstance(value, list) and any(isinstance(each, list) for each in value):
        return json.dumps(value, separators=(",", ":"))
    if isinstance(value, list) and value:
        return ",".join(_as_flag(each, where) for each in value)
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float):
        raise ValueError(f"{where} must be text, a number, or several of them, got {json.dumps(value, default=str)}")
    return value if isinstance(value, str) else repr(value)


def _lines(text: str) -> dict[tuple, int]:
    """In which line each key stands; the n-th table of methods is ("methods", n)."""
    found: dict[tuple, int] = {}
    table: tuple = ()
    count = 0
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*(\[\[?)\s*([\w.\"-]+)", line)
        key = re.match(r"\s*([\w-]+|\"[^\"]*\"|'[^']*')\s*=", line)
        if header and not key:
            name = header[2].strip('"')
            table = (name, count) if header[1] == "[[" else (name,)
            count += header[1] == "[["
            found.setdefault((name,), number)
            found.setdefault(table, number)
        elif key:
            found.setdefault((*table, key[1].strip("\"'")), number)
    return found


def written(params: Mapping[str, Any], words: Sequence[str]) -> str:
    """The plan of a command line: its parameters by name, and the words that are flags of the methods."""
    lines = [HEAD]
    for name, value in params.items():
        if name not in (*ELSEWHERE, "method") and value is not None:
            lines.append(f"{name} = {_toml(value if name == 'data' else _value(value))}\n")
    own = "".join(f"{name} = {_toml(_value(text))}\n" for name, text in _pairs(words))
    tables = [f"\n[[methods]]\nname = {_toml(name)}\n{own}" for name in params["method"].split(",")]
    return "".join([*lines, *tables])


def _pairs(words: Sequence[str]) -> list[tuple[str, str]]:
    """Flags and their values, the last of each; words that are neither were refused before."""
    rest, found = list(words), {}
    while rest:
        name, given, text = rest.pop(0).removeprefix("--").partition("=")
        found[name.replace("-", "_")] = text if given else rest.pop(0)
    return list(found.items())


def _value(text: Any) -> Any:
    """Text of a flag as TOML would have it: a number where it is written as one, a list where there are commas. Read
    again, it is the same text."""
    if not isinstance(text, str):
        return text
    if text.startswith("["):
        try:
            found = json.loads(text)
        except json.JSONDecodeError:
            return text
        return found if _as_flag_again(found, text) else text
    if "," in text:
        return [_value(piece) for piece in text.split(",")]
    for kind in (int, float):
        try:
            if repr(kind(text)) == text and text not in ("inf", "-inf", "nan"):
                return kind(text)
        except ValueError:
            continue
    return text


def _as_flag_again(found: Any, text: str) -> bool:
    try:
        return json.loads(_as_flag(found, "")) == json.loads(text)
    except (ValueError, TypeError):
        return False


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        # a JSON string is a TOML string, but for one control character that JSON leaves as it is
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else repr(value)


def keep(folder: Path, content: bytes) -> Path:
    """Puts a plan into a study's folder: study.toml, or study-2.toml and so on where others are there already."""
    from partita.training.files import write_bytes

    number = 1
    while True:
        path = folder / ("study.toml" if number == 1 else f"study-{number}.toml")
        if not path.exists():
            write_bytes(path, content)
            return path
        if path.read_bytes() == content:
            return path
        number += 1


def metrics_of(folder: Path) -> str:
    """What the plans of a study want measured; "mig" where none says."""
    asked: list[str] = []
    for path in sorted(folder.glob("study*.toml"), key=lambda path: (len(path.name), path.name)):
        try:
            asked += _as_flag(tomllib.loads(path.read_text("utf-8"))["metrics"], "").split(",")
        except (OSError, ValueError, KeyError):
            continue
    return "all" if "all" in asked else ",".join(dict.fromkeys(asked)) or "mig"
