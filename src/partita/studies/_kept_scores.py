"""The scores of all runs of a study without opening the files of each: beside the index, a log a shard.

DIR/index/<shard>.scores has a line for every time a run was measured: how, and the numbers of all tables, without the
matrices behind them. As in the index, a line counts only as long as the run's folder is as old as it says; what is
lost, cut or out of date costs one look at scores.json, and is added again.
"""

import json
import time
import zlib
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from partita.studies._columns import PARTS
from partita.studies._index import MANY, Entry, last_lines, log, put_in_order, shard_of
from partita.training.files import append_line, make_folder, read_json

PC_AND_TC = {"pc": True, "tc": True}
MEANS = {"pc": {"mean": True}, "tc": {"mean": True}}
# What is kept of scores.json: whatever `COLUMNS`, the tables of metrics and `partita compare` read.
SCORE = {"value": True, "protocol": True, "n": True, "interval": True}
KEPT: dict[str, Any] = {
    "run": True, "scored": True, "n": True, "reconstruction_mse": True, "reconstruction_r2": True,
    "recon": True, "kl": True, "elbo": True,
    "alignment": {"r2": True, "mse": True, "grouping": True},
    "alignment_regrouped": {"r2": True},
    "correlation": PC_AND_TC | {
        "null": MEANS, "joint": PC_AND_TC, "fixed_width": {"width": True, "pc": True, "null": {"mean": True}},
        "by": True, "n": True, "grouping": True,
    },
    "gaussian_tc": {"mean": True, "sample": True},
    "group_metrics": {"mig": SCORE},
    "diagnosis": {"verdict": True, "reasons": True},
    "udr": {"value": True, "of": True},
    "with_u": {"alignment": {"r2": True}, "conditional_elbo": True, "metrics": {"mig": SCORE}},
}  # fmt: skip


class KeptScores(NamedTuple):
    """A line: of a run whose folder is so old (in nanoseconds), `how` the scores were made, as JSON, and the scores."""

    run: str
    age: str
    how: str
    checksum: str
    body: str

    def scores(self, folder: str | Path) -> dict[str, Any]:
        """The numbers; from the run's folder where the line was cut or garbled."""
        whole = _checksum(self.how, self.body) == self.checksum
        return json.loads(self.body) if whole else read_scores(Path(folder))

    def scored(self) -> dict[str, Any]:
        """Those of them that say how they were made, which is the same for many runs."""
        return _parsed(self.how)


FIELDS = len(KeptScores._fields)
KIND = "scores"  # of log


def in_short(scores: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of a run that tables show."""
    found = _pruned(scores, KEPT)
    if isinstance(metrics := scores.get("metrics"), Mapping):
        found["metrics"] = {name: _pruned(score, SCORE | _parts(name)) for name, score in metrics.items()}
    if isinstance(of := found.get("udr", {}).get("of"), list):
        found["udr"]["of"] = company(of)
    return found


def company(names: Collection[str]) -> int:
    """Stands for the runs that were compared with each other."""
    return zlib.crc32("\n".join(names).encode())


def read_scores(folder: Path) -> dict[str, Any]:
    """All that scores.json says; ValueError, naming the file, where it is damaged."""
    scores = read_json(folder / "scores.json")
    scores.pop("digest", None)
    return scores


def keep(index: Path, folder: Path, age: str, scores: Mapping[str, Any]) -> KeptScores:
    """Adds a line on scores that have just been written, or were read when the folder was so old. A disk that is full,
    or may not be written, costs a line."""
    made = scores.get("scored")
    how = json.dumps(made, sort_keys=True, separators=(",", ":")) if isinstance(made, Mapping) else "{}"
    body = json.dumps(in_short(scores), separators=(",", ":"))
    line = KeptScores(folder.name, age, how, _checksum(how, body), body)
    with suppress(OSError):
        make_folder(index)
        append_line(index / f"{shard_of(folder.name)}.{KIND}", "\t".join(line) + "\n")
    return line


def in_short_of(index: Path, entries: Sequence[Entry]) -> list[tuple[Entry, KeptScores]]:
    """The scores of those of these runs that have some which can be read: from the logs, else from their files."""
    began, found, cold = time.monotonic(), [], 0
    kept, crowded = last_lines(index, KIND, FIELDS)
    if crowded:
        put_in_order(index, KIND, crowded, kept.values())
    for entry in entries:
        line = kept.get(entry.name)
        if line is not None and line[1] == entry.age:
            found.append((entry, KeptScores._make(line)))
        elif entry.scored:
            cold += 1
            with suppress(ValueError, OSError):
                found.append((entry, keep(index, entry.folder, entry.age, read_scores(entry.folder))))
    if cold >= MANY:
        log.info("scores of %d runs read in %.1f s", cold, time.monotonic() - began)
    return found


@lru_cache
def _parsed(how: str) -> dict[str, Any]:
    try:
        return {"scored": json.loads(how)}
    except ValueError:  # the line was cut
        return {}


def _checksum(how: str, body: str) -> str:
    return str(zlib.crc32(body.encode(), zlib.crc32(how.encode())))


def _parts(name: str) -> dict[str, Any]:
    return {"parts": dict.fromkeys(PARTS[name], True)} if name in PARTS else {}


def _pruned(content: Any, kept: Mapping[str, Any]) -> Any:
    if not isinstance(content, Mapping):
        return content
    return {
        name: content[name] if which is True else _pruned(content[name], which)
        for name, which in kept.items()
        if name in content and content[name] is not None
    }
