"""Every method on `groups` and on 32 x 32 pdSprites: alignment R2, PC with its null, reconstruction, training time.

Runs of one structure train as one ensemble. Every weight on TC or PC is 5 in all (4 on top of the ELBO's own), as in
the PDisVAE paper's comparison; all else is each method's default. Labels are the data's factors, or its true latents
where it has no factors: methods that see them are told what the others must find.

    python benchmarks/table_methods.py [--data groups,pdsprites] [--methods all] [--steps N] [--precision float32]
    python benchmarks/table_methods.py --join FOLDER... --out FOLDER      # one table of what several processes measured
"""

import argparse
import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from partita.data import Dataset, label, load, mask_labels
from partita.studies import Run, Store, evaluate_run, plan, train
from partita.studies._memory_budget import MemoryBudget
from partita.studies.plan import ensembles
from partita.training import Interrupted
from partita.training.device import choose_device
from written import about, in_one_line, keep, markdown, mean_and_range

SOLVED = 0.95
SHARE_LABELLED = 0.1
STEPS = {"groups": 10000, "pdsprites": 5000}
RATES = {"groups": 3e-3, "pdsprites": 1e-3}


@dataclass(frozen=True)
class Row:
    """A method with the options that are not its defaults; `labels` are those of "none", "all" or "some" rows."""

    method: str
    options: dict[str, Any] = field(default_factory=dict)
    labels: str = "none"
    remark: str = ""


ROWS = {
    "pca": Row("pca", remark="closed form"),
    "ica": Row("ica", remark="closed form"),
    "ae_ica": Row("ae_ica"),
    "vae": Row("vae"),
    "beta_vae": Row("beta_vae", {"beta": 4.0}),
    "annealed_vae": Row("annealed_vae", {"anneal": "half the steps"}),
    "dip_vae_i": Row("dip_vae_i"),
    "dip_vae_ii": Row("dip_vae_ii"),
    "ica_vae": Row("ica_vae"),
    "isa_vae": Row("isa_vae"),
    "isa_vae p0=1 pg=2": Row("isa_vae", {"p0": 1.0, "pg": 2.0}),
    "beta_tcvae": Row("beta_tcvae", {"beta": 5.0}),
    "factor_vae": Row("factor_vae", {"gamma": 4.0, "groups": None}),
    "factor_vae groups": Row("factor_vae", {"gamma": 4.0}),
    "rtc_vae": Row("rtc_vae", {"beta": 4.0, "groups": None}),
    "hfvae gamma=0.5": Row("hfvae", {"beta": 5.0, "gamma": 0.5}, remark="gamma=1 is pdisvae"),
    "beta_stcvae": Row("beta_stcvae", {"beta": 5.0, "grouping": 2}),
    "pdisvae": Row("pdisvae", {"beta": 4.0}),
    "pdisvae restarts=8": Row("pdisvae", {"beta": 4.0, "restarts": 8}, remark="8 models a run"),
    "full_vae": Row("full_vae", labels="all"),
    "ivae": Row("ivae", labels="all"),
    "idvae": Row("idvae", labels="all"),
    "ss_ivae": Row("ss_ivae", labels="some"),
    "ss_idvae": Row("ss_idvae", labels="some"),
    "infogan": Row("infogan", remark="rate 2e-4; no likelihood, hence no ELBO"),
}
HEADER = (
    "method", "labels", "models at once", "R2, own groups or regrouped without labels", f"R2 ≥ {SOLVED}",
    "R2, grouping chosen by the truth", "PC", "PC, null", "reconstruction R2", "training, s", "remark",
)  # fmt: skip


def with_labels(dataset: Dataset, labels: str) -> Dataset:
    if labels == "none":
        return dataset
    if dataset.factors is None:
        dataset = replace(dataset, labels=dataset.truth, description={**dataset.description, "labels": "truth"})
    else:
        dataset = label(dataset, factors=list(dataset.factor_names or ()))
    return dataset if labels == "all" else mask_labels(dataset, labelled=SHARE_LABELLED)


def planned(row: Row, dataset: Dataset, steps: int, seeds: int, precision: str) -> list[Run]:
    options = {name: [value] for name, value in row.options.items()}
    if "anneal" in options:
        options["anneal"] = [max(1, steps // 2)]
    special: dict[str, Any] = {"learning_rate": RATES[dataset.name]}
    if row.method == "infogan":
        # a linear critic sees means alone; a game needs a slower rate, and normalised features
        special = {"learning_rate": 2e-4, "network": "mlp" if len(dataset.shape) == 1 else "infogan"}
    special |= {"precision": precision, "seeds": range(seeds), "steps": steps}
    return plan([row.method], dataset, options=options, **special)


def measured(names: list[str], dataset: Dataset, asked: argparse.Namespace, folder: Path, device: torch.device):
    """One record a row, as soon as the ensembles it is part of are trained."""
    steps = asked.steps or STEPS[dataset.name]
    for labels in ("none", "all", "some"):
        data = with_labels(dataset, labels)
        store = Store(folder / labels)
        wanted: dict[str, list[Run]] = {}
        for name in (name for name in names if ROWS[name].labels == labels):
            try:
                wanted[name] = planned(ROWS[name], data, steps, asked.seeds, asked.precision)
            except Exception as error:
                yield _failed(name, dataset, in_one_line(error))
        pieces = ensembles([run for runs in wanted.values() for run in runs], MemoryBudget(dataset.size, device).models)
        yield from _trained(pieces, wanted, data, store, device)


def _trained(pieces, wanted: dict[str, list[Run]], data: Dataset, store: Store, device) -> Iterator[dict[str, Any]]:
    for together in pieces:
        members = {run.id for run in together}
        rows = {name: runs for name, runs in wanted.items() if runs[0].id in members}
        models = len(together) * together[0].program.replicas
        try:
            start = time.perf_counter()
            train(together, data, store, device=device)
            seconds = time.perf_counter() - start
        except Interrupted:
            raise
        except Exception as error:
            for name in rows:
                yield _failed(name, data, in_one_line(error))
            continue
        for name, runs in rows.items():
            record = {"data": data.name, "row": name, "setting": runs[0].setting, "steps": runs[0].steps}
            start = time.perf_counter()
            scores = [_scores(store, run, data, device) for run in runs]
            spent = {"seconds": seconds, "models": models, "scoring_seconds": time.perf_counter() - start}
            print(
                f"{data.name}, {name}: {models} models in {seconds:.1f} s, scored in {spent['scoring_seconds']:.1f} s",
                flush=True,
            )
            yield {**record, **spent, "together": list(rows), "runs": scores}


def _failed(name: str, data: Dataset, words: str) -> dict[str, Any]:
    print(f"{data.name}, {name}: {words}", flush=True)
    return {"data": data.name, "row": name, "failed": words, "runs": []}


def _scores(store: Store, run: Run, data: Dataset, device: torch.device) -> dict[str, Any]:
    ended = store.result(run) or {}
    if ended.get("status") != "finished":
        return {"seed": run.seed, "failed": f"{ended.get('status', 'not trained')} at step {ended.get('diverged_at')}"}
    try:
        scores = evaluate_run(store, run, data, device=device)
    except Exception as error:
        return {"seed": run.seed, "failed": in_one_line(error)}
    alignment = scores["alignment"]
    chosen_by_truth = alignment["grouping"].startswith("best")
    return {
        "seed": run.seed,
        "r2": scores["alignment_regrouped"]["r2"] if chosen_by_truth else alignment["r2"],
        "r2_by_truth": alignment["r2"] if chosen_by_truth else None,
        "r2_with_u": scores.get("with_u", {}).get("alignment", {}).get("r2"),
        "pc": scores["correlation"]["pc"],
        "null": scores["correlation"]["null"]["pc"]["mean"],
        "reconstruction_r2": scores["reconstruction_r2"],
        "elbo": scores.get("elbo"),
        "mig": scores.get("metrics", {}).get("mig", {}).get("value"),
        "grouping": alignment["grouping"],
    }


def table(records: list[dict[str, Any]], data: str) -> str:
    order = {name: position for position, name in enumerate(ROWS)}
    chosen = sorted((r for r in records if r["data"] == data), key=lambda record: order[record["row"]])
    return markdown(HEADER, [_cells(record) for record in chosen])


def _cells(record: dict[str, Any]) -> list[str]:
    row = ROWS[record["row"]]
    labels = {"none": "–", "all": "all rows", "some": f"{SHARE_LABELLED:.0%} of rows"}[row.labels]
    if "failed" in record:
        return [record["row"], labels, *["–"] * 8, record["failed"]]
    runs = [run for run in record["runs"] if "failed" not in run]
    column = lambda name: [run[name] for run in runs]  # noqa: E731
    others = [name for name in record["together"] if name != record["row"]]
    remarks = [row.remark] if row.remark else []
    if others:
        remarks.append(f"one ensemble with {', '.join(others)}")
    if any(value is not None for value in column("r2_with_u")):
        remarks.append(f"codes from true labels: R2 {mean_and_range(column('r2_with_u'))}")
    remarks += [f"seed {run['seed']}: {run['failed']}" for run in record["runs"] if "failed" in run]
    return [
        record["row"],
        labels,
        record["models"],
        mean_and_range(column("r2")),
        f"{sum(value >= SOLVED for value in column('r2'))} of {len(record['runs'])}",
        mean_and_range(column("r2_by_truth")),
        mean_and_range(column("pc"), 2),
        mean_and_range(column("null"), 2),
        mean_and_range(column("reconstruction_r2")),
        f"{record['seconds']:.1f}",
        "; ".join(remarks),
    ]


def page(records: list[dict[str, Any]], made: dict[str, str]) -> str:
    lines = [f"{made['date']}, {made['device']}, torch {made['torch']}", f"`{made['command']}`"]
    for data in STEPS:
        own = [record for record in records if record["data"] == data]
        if own:
            trained = [record for record in own if "failed" not in record]
            steps = max((record["steps"] for record in trained), default=0)
            seconds = sum({tuple(record["together"]): record["seconds"] for record in trained}.values())
            lines += [
                "",
                f"**{data}**, {steps} steps a model, {seconds:.0f} s of training in all",
                "",
                table(own, data),
            ]
    lines += [
        "",
        "Mean over seeds (smallest to largest). R2: linear, of the true groups from the learned ones. PC: exact, nats, "
        "for the grouping by the truth where a method has none; its null permutes rows of groups.",
    ]
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="groups,pdsprites")
    parser.add_argument("--methods", default="all", help=f"all, or some of: {', '.join(ROWS)}")
    parser.add_argument("--steps", type=int, help=f"default {STEPS}")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--precision", default="float32", help="of the networks")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, default=Path("runs/table_methods"))
    parser.add_argument("--join", type=Path, nargs="+", help="folders whose JSON files become one table")
    return parser.parse_args()


def main() -> None:
    asked = arguments()
    if asked.join:
        parts = [json.loads(file.read_text("utf-8")) for folder in asked.join for file in folder.glob("part-*.json")]
        if not parts:
            raise SystemExit(f"no part-*.json in {', '.join(map(str, asked.join))}")
        joined = {(record["data"], record["row"]): record for part in parts for record in part["rows"]}
        made = {**parts[0]["about"], "command": "; ".join(part["about"]["command"] for part in parts)}
        keep(asked.out, "methods", page(list(joined.values()), made), {"about": made, "rows": list(joined.values())})
        return
    device = choose_device(asked.device)
    import_module("sklearn.decomposition")  # so that the first ensemble pays neither for this
    torch.zeros(1, device=device)  # nor for starting the GPU
    names = list(ROWS) if asked.methods == "all" else [name.strip() for name in asked.methods.split(",")]
    unknown = [name for name in names if name not in ROWS]
    if unknown:
        raise SystemExit(f"unknown rows {unknown}; there are {', '.join(ROWS)}")
    tag = hashlib.blake2b(f"{asked.data} {' '.join(names)}".encode(), digest_size=4).hexdigest()
    asked.out.mkdir(parents=True, exist_ok=True)
    records: list[dict[str, Any]] = []
    for data in asked.data.split(","):
        folder = asked.out / f"runs-{tag}" / data
        for record in measured(names, load(data), asked, folder, device):
            records.append(record)
            made = about(device)
            # kept after every row: whatever ends this process loses nothing that was measured
            content = {"about": made, "rows": records}
            (asked.out / f"part-{tag}.json").write_text(json.dumps(content), "utf-8")
    keep(asked.out, f"methods-{tag}", page(records, about(device)), {"about": about(device), "rows": records})


if __name__ == "__main__":
    main()
