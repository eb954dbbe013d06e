"""What the compiler has to make for the ensembles of a study, made by as many processes at once.

Compiling is Python's work: one structure after the other, and the GPU waits. So the first time that several of them are
trained, each is compiled in a process of its own, the first of them in the one that trains. What they make stays in the
compiler's cache, with a mark beside it. This module is what such a process runs.
"""

import hashlib
import json
import logging
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from partita import __version__
from partita.distributions import as_likelihood
from partita.networks import Architecture
from partita.recipes import Program, Recipe
from partita.studies.run import Run
from partita.training import Ensemble
from partita.training.device import choose_device, compiler_folder, worth_compiling
from partita.training.scale import Scale

log = logging.getLogger("partita.compiler")

# Processes, each with the GPU's libraries in memory; and seconds after which they are left to themselves no longer.
MOST_AT_ONCE, LONGEST_WAIT = 8, 300.0


@dataclass(frozen=True)
class Order:
    """To compile the steps of so many runs like `run`, on data of so many rows. All of it is JSON."""

    run: dict[str, Any]
    runs: int
    size: int

    @property
    def program(self) -> Program:
        return Run.from_json(self.run).program

    def mark(self, device: torch.device) -> Path:
        """Exists once the order was carried out, by this version of torch for this kind of device."""
        kind = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
        structure = re.sub(r" at 0x[0-9a-f]+", "", repr(self.program.structure))
        what = [structure, self.runs, self.run["batch_size"], self.size, torch.__version__, __version__, kind]
        return compiler_folder() / "partita" / hashlib.blake2b(repr(what).encode(), digest_size=12).hexdigest()

    def carry_out(self, device: torch.device) -> None:
        """Compiles what training compiles, by taking a step on nothing."""
        program = self.program
        phases = [(c, phase.recipe) for c in program.candidates for phase in c.phases]
        for candidate, recipe in phases:
            if not isinstance(recipe, Recipe):  # its groups are still to be found
                continue
            ensemble = self._ensemble([recipe] * self.runs * candidate.replicas, device)
            index, noise, values = ensemble.draws.index(0, 1), ensemble.draws.noise(0, 1), ensemble.values(0, 1)
            ensemble.take_step(index[0], noise[0], values[0])
        mark = self.mark(device)
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()

    def _ensemble(self, recipes: list[Recipe], device: torch.device) -> Ensemble:
        house = recipes[0].architecture
        return Ensemble(
            recipes,
            range(len(recipes)),
            torch.zeros(1, *house.shape, device=device, dtype=torch.float32).expand(self.size, *house.shape),
            u=np.full((self.size, house.labels), 0.5) if house.labels else None,
            labelled=np.ones(self.size) if house.labels else None,
            beside=self._beside(house),
            scale=self._scale(house),
            batch_size=self.run["batch_size"],
            device=device,
            compiled=True,
            hold_out=self.program.hold_out,
        )

    def _scale(self, house: Architecture) -> Scale:
        ones = torch.ones(house.shape, dtype=torch.float64)
        return Scale(self.run.get("scale", "none"), 0 * ones, ones, as_likelihood(house.likelihood).counts)

    def _beside(self, house: Architecture) -> dict[str, np.ndarray]:
        """As many numbers as runs have beside x."""
        found = {"covariates": np.zeros((self.size, house.covariates))} if house.covariates else {}
        return found | ({"exposure": np.ones(self.size)} if self.run.get("exposure") is not None else {})


def precompile(companies: Sequence[Sequence[Run]], size: int, device: torch.device, stop: Callable[[], bool]) -> None:
    """Fills the compiler's cache for ensembles of these runs on `size` rows; one alone compiles as well by itself.

    Nothing depends on it but time: what cannot be compiled now is compiled when it is its turn.
    """
    known = [runs for runs in companies if not runs[0].sources]  # no other process has a function of this one's
    worth = [runs for runs in known if runs[0].recipe.players and worth_compiling(runs[0].steps, device)]
    orders = [Order(runs[0].as_json(), len(runs), size) for runs in worth]
    new = list({mark: order for order in orders if not (mark := order.mark(device)).exists()}.values())
    new = new[: min(MOST_AT_ONCE, os.cpu_count() or 1)]
    if len(new) < 2:
        return
    log.info("compiling %d structures for the first time, each in a process of its own", len(new))
    begun = time.perf_counter()
    helpers: list[subprocess.Popen] = []
    try:
        helpers += [_started(order, device) for order in new[1:]]
        new[0].carry_out(device)
        while any(helper.poll() is None for helper in helpers) and not stop():
            if time.perf_counter() - begun > LONGEST_WAIT:
                break
            time.sleep(0.05)
    except Exception as error:  # memory, the compiler, a machine that starts no more processes
        log.debug("not compiled ahead: %s", error)
    finally:
        for helper in helpers:
            helper.kill()  # where it has ended, nothing happens
            helper.wait()
    log.info("compiled in %.0f s", time.perf_counter() - begun)


def _started(order: Order, device: torch.device) -> subprocess.Popen:
    """In a session of its own: Ctrl-C in a terminal is for the process that trains, which then ends this one."""
    helper = subprocess.Popen(
        [sys.executable, "-m", __name__, str(device)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert helper.stdin is not None
    helper.stdin.write(json.dumps(asdict(order)).encode())
    helper.stdin.close()
    return helper


if __name__ == "__main__":
    Order(**json.load(sys.stdin)).carry_out(choose_device(sys.argv[1]))
