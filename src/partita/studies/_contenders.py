"""Who is compared with whom: the runs of studies by contender, paired by what they were tried on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from partita.data._nearest import listed, nearest
from partita.studies._labels import facts_of, natural_order
from partita.studies.run import Run
from partita.studies.source import same_data
from partita.studies.store import Store

# Of what all methods have: where contenders differ in it and are not compared by it, that is said.
SHARED = ("steps", "batch", "learning_rate", "latents", "network", "hidden", "likelihood", "scale", "precision",
          "restarts", "validation")  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A run of a study, how it ended, and its scores where it has some."""

    run: Run
    study: str
    status: str
    scores: Mapping[str, Any] | None
    name: str = ""  # the run's id, where it is known

    @cached_property
    def id(self) -> str:
        """The run's, which takes a while to make."""
        return self.name or self.run.id

    def __str__(self) -> str:
        return f"{self.id} of {self.study}"


@dataclass(frozen=True)
class Block:
    """What contenders are tried on alike: data, a seed and, where they are compared by one option, all the others."""

    data: str
    seed: int
    rest: str = ""


@dataclass(frozen=True)
class Contenders:
    """Their labels, the blocks where all of them were measured, the runs of each, and what a reader should know.
    `ended` are the runs of each that ended, well or not, in blocks where those of all did."""

    labels: tuple[str, ...]
    blocks: tuple[Block, ...]
    runs: Mapping[tuple[str, Block], list[Entry]]
    ended: Mapping[str, list[Entry]]
    data: Mapping[str, str]  # of each run, by its id
    facts: Mapping[str, Mapping[str, str]]
    notes: tuple[str, ...]


def entries_of(folders: Iterable[str | Path]) -> list[Entry]:
    """Every run of these studies, each once; ValueError where there is none, or a finished one was not measured."""
    found: dict[str, Entry] = {}
    for folder in folders:
        store = Store(Path(folder))
        known, unmeasured = store.entries(), []
        kept = {each.name: line for each, line in store.scores_in_short(known)}
        for each in known:
            status = each.status or "unfinished"
            line = kept.get(each.name) if status == "finished" else None
            if status == "finished" and line is None:
                unmeasured.append(each.name)
            scores = None if line is None else line.scores(each.path)
            entry = Entry(each.run, str(folder), status, scores, each.name)
            if entry.id not in found or found[entry.id].status != "finished":
                found[entry.id] = entry
        if unmeasured:
            raise ValueError(
                f"{folder}: {len(unmeasured)} finished runs are not measured ({listed(unmeasured, 2)}): "
                f"partita evaluate {folder}"
            )
    return sorted(found.values(), key=lambda entry: natural_order(entry.run))


def contenders(entries: Sequence[Entry], by: str = "setting") -> Contenders:
    """Runs by contender and block. ValueError, by name, where contenders were not tried on the same data, or share no
    seed, or there is only one of them."""
    data = data_names(entries)
    facts = {entry.id: facts_of(entry.run) | {"method": entry.run.method} for entry in entries}
    told = _told_apart(entries, data, facts)
    known = {"setting", *(name for own in facts.values() for name in own if name != "data")}
    if by not in known:
        raise ValueError(f"cannot compare by {by!r}{nearest(by, known)}: give method, setting, or an option of methods")
    runs: dict[tuple[str, Block], list[Entry]] = {}
    ended: dict[str, list[tuple[Block, Entry]]] = {}
    without = []
    for entry in entries:
        own = facts[entry.id]
        if by not in own and by != "setting":
            without.append(entry)
            continue
        label, rest = _label(entry.run, own, told[entry.run.method], by)
        block = Block(data[entry.id], entry.run.seed, rest)
        if entry.status != "unfinished":
            ended.setdefault(label, []).append((block, entry))
        if entry.scores is not None:
            runs.setdefault((label, block), []).append(entry)
    labels = tuple(ended)
    if len(labels) < 2:
        only = f" ({labels[0]})" if labels else ""
        what = {"method": "method", "setting": "setting"}.get(by, f"value of {by}")
        raise ValueError(f"nothing to compare: there is only one {what} with finished runs{only}")
    blocks = _common(labels, runs)
    tried = set.intersection(*({block for block, _ in own} for own in ended.values()))
    counted = {label: [entry for block, entry in own if block in tried] for label, own in ended.items()}
    notes = [*_incomplete(labels, runs, blocks), *_endings(entries), *_unlike(labels, counted, facts, by)]
    if without:
        notes.append(f"{len(without)} runs of methods without {by} are left out")
    return Contenders(labels, blocks, runs, counted, data, facts, tuple(notes))


def data_names(entries: Sequence[Entry]) -> dict[str, str]:
    """By run, the name of its data: the same where they are the same, with what tells them apart where names do not."""
    found: list[Mapping[str, Any]] = []
    place: dict[str, int] = {}
    for entry in entries:
        match = next((i for i, known in enumerate(found) if same_data(known, entry.run.data)), None)
        if match is None:
            found.append(entry.run.data)
        place[entry.id] = len(found) - 1 if match is None else match
    plain = [str(each.get("name") or Path(str(each.get("path", "data"))).name) for each in found]
    names = [name if plain.count(name) == 1 else f"{name} {_details(each)}" for name, each in zip(plain, found)]
    return {run: names[i] for run, i in place.items()}


def _details(description: Mapping[str, Any]) -> str:
    options = " ".join(f"{name}={value}" for name, value in dict(description.get("options") or {}).items())
    return f"{options} {str(description.get('digest', ''))[:8]}".strip() or "without options"


def _told_apart(
    entries: Sequence[Entry], data: Mapping[str, str], facts: Mapping[str, Mapping[str, str]]
) -> dict[str, list[str]]:
    """By method, the facts in which its runs on the same data differ. What differs between data sets alone (a number of
    latents, a likelihood) was chosen for the data, and makes no other setting."""
    together: dict[tuple[str, str], list[Mapping[str, str]]] = {}
    for entry in entries:
        together.setdefault((entry.run.method, data[entry.id]), []).append(facts[entry.id])
    told: dict[str, list[str]] = {}
    for (method, _), alike in together.items():
        names = dict.fromkeys(name for own in alike for name in own if name != "data")
        differing = [name for name in names if len({own.get(name) for own in alike}) > 1]
        told[method] = list(dict.fromkeys([*told.get(method, ()), *differing]))
    return told


def _label(run: Run, facts: Mapping[str, str], told: Sequence[str], by: str) -> tuple[str, str]:
    """The contender a run belongs to, and what else it is."""
    if by == "method":
        return run.method, ""
    named = [f"{name}={facts[name]}" for name in told if name in facts and name != by]
    if by == "setting":
        return " ".join([run.method, *named]), ""
    return f"{by}={facts[by]}", " ".join([run.method, *named])


def _common(labels: Sequence[str], runs: Mapping[tuple[str, Block], Any]) -> tuple[Block, ...]:
    """The blocks that all contenders have."""
    tried = {label: dict.fromkeys(block for whose, block in runs if whose == label) for label in labels}
    every = {label: {block.data for block in own} for label, own in tried.items()}
    for label in labels:
        for other in labels:
            missing = sorted(every[other] - every[label])
            if missing:
                raise ValueError(
                    f"{label} has no measured run on {listed(missing, 3)}, which {other} has: compare what was trained "
                    "on the same data, or leave a study out"
                )
    first, *others = tried.values()
    common = [block for block in first if all(block in own for own in others)]
    for data in sorted(every[labels[0]]):
        if not any(block.data == data for block in common):
            seeds = {label: [block.seed for block in own if block.data == data] for label, own in tried.items()}
            said = "; ".join(f"{label} has seeds {listed(sorted(set(own)), 5)}" for label, own in seeds.items())
            raise ValueError(f"on {data} no seed is shared by all, so nothing can be paired: {said}")
    return tuple(sorted(common, key=lambda block: (block.data, block.rest, block.seed)))


def _incomplete(labels: Sequence[str], runs: Mapping[tuple[str, Block], Any], blocks: Sequence[Block]) -> list[str]:
    kept, notes = set(blocks), []
    for label in labels:
        extra = {block for whose, block in runs if whose == label} - kept
        if extra:
            notes.append(f"{len(extra)} runs of {label} are in no pair: others lack their seed")
    return notes


def _endings(entries: Sequence[Entry]) -> list[str]:
    words = {"diverged": "diverged, are in no mean, and count as failures", "unfinished": "are not finished"}
    counts = {status: [entry for entry in entries if entry.status == status] for status in words}
    return [f"{len(own)} runs {words[s]}: {listed([e.id for e in own], 3)}" for s, own in counts.items() if own]


def _unlike(
    labels: Sequence[str], ended: Mapping[str, Sequence[Entry]], facts: Mapping[str, Mapping[str, str]], by: str
) -> list[str]:
    """In what contenders differ beside what they are compared by: a fair comparison is alike in it."""
    notes = []
    first = {entry.run.method: entry.run for entries in ended.values() for entry in entries}
    steps_taken = {method for method, run in first.items() if run.lacks is None and run.recipe.players}
    trained = {label: [e for e in ended[label] if e.run.method in steps_taken] for label in labels}
    for name in SHARED:
        if name == by or any(f" {name}=" in label for label in labels):
            continue
        own = {
            label: sorted({facts[e.id].get(name, _usual(name)) for e in entries})
            for label, entries in trained.items()
            if entries
        }
        if len({tuple(values) for values in own.values()}) > 1:
            said = "; ".join(f"{label} {'/'.join(values)}" for label, values in list(own.items())[:4])
            notes.append(f"trained methods are not alike in {name}: {said}{'; ...' if len(own) > 4 else ''}")
    return notes


def _usual(name: str) -> str:
    return {"restarts": "1", "validation": "null"}.get(name, "none")
