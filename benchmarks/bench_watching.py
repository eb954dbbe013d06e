"""What logging the cheap scores costs: their share of training time at the default interval, on this machine.

`python benchmarks/bench_watching.py` takes about a minute. Of the default 5,000 steps every fiftieth is a log point and
every tenth log point has scores, so one look falls on 500 steps. Both sides are processor time of one process (set
OMP_NUM_THREADS=1). The linear model of `groups` is the cheapest training there is.
"""

import argparse
import time

import torch

from partita.data import load
from partita.studies import plan
from partita.studies._ensemble_trainer import LOG_POINTS
from partita.studies._watching import watched_metrics
from partita.training import Ensemble

STEPS = 5000


def processor_time(work, times: int) -> float:
    """The least of several."""
    seconds = []
    for _ in range(times):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def share(name: str, options: dict, steps: int) -> None:
    dataset = load(name, **options)
    (run,) = plan(["pdisvae"], dataset, steps=STEPS)
    ensemble = Ensemble(
        [run.recipe], [0], dataset.x, x_scale=dataset.x_scale, batch_size=run.batch_size, device=torch.device("cpu")
    )
    watched = watched_metrics("all", dataset)
    ensemble.advance(steps)
    watched.look(ensemble)
    a_step = processor_time(lambda: ensemble.advance(steps), 3) / steps
    a_look = processor_time(lambda: watched.look(ensemble), 5)
    between = watched.every * (STEPS // LOG_POINTS)
    print(
        f"{name:<10} {run.architecture['network']:<8} step {1000 * a_step:8.2f} ms   look {1000 * a_look:8.1f} ms"
        f" ({', '.join(watched.names)})   share {a_look / (between * a_step):.2%}"
    )


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    share("groups", {}, 200)
    share("pdsprites", {}, 20)
    share("dsprites", {"every": (1, 1, 8, 4, 4)}, 10)


if __name__ == "__main__":
    main()
