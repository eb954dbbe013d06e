"""docs/figures/speed.svg: model-steps a second against models trained at once, as measured (benchmarks/speed.json)."""

import json
from pathlib import Path

import matplotlib.pyplot as plt

from partita.plot._style import COLOURS, FAINT, RC

HERE = Path(__file__).parent


def main() -> None:
    measured = json.loads((HERE.parent / "benchmarks" / "speed.json").read_text("utf-8"))
    plt.rcParams.update(RC)
    figure, axis = plt.subplots(figsize=(6.4, 3.4))
    for colour, (name, curve) in zip(COLOURS, measured["curves"].items()):
        models, speeds = [int(models) for models in curve], list(curve.values())
        axis.loglog(models, speeds, "o-", color=colour, linewidth=1.6, markersize=4, label=name)
        axis.axhline(measured["alone"][name], color=colour, linewidth=1, linestyle=(0, (4, 3)))
        axis.annotate(f"{speeds[-1]:,}", (models[-1], speeds[-1]), (0, 6), textcoords="offset points", ha="center")
    axis.text(500, 310, "dashed: one model, plain eager PyTorch", color=FAINT, ha="right", va="bottom", fontsize=8)
    axis.set(xlabel="models trained at once, one H200", ylabel="model-steps a second", ylim=(100, 2.5e6))
    axis.set_xticks(models := [1, 10, 100, 500], [str(count) for count in models])
    axis.set_yticks(speeds := [100, 1000, 10000, 100000, 1000000], [f"{speed:,}" for speed in speeds])
    axis.minorticks_off()
    axis.legend(loc="upper left", fontsize=8)
    figure.savefig(HERE / "figures" / "speed.svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
