"""partita export"""

from pathlib import Path
from typing import Annotated

import typer


def export(
    folder: Annotated[Path, typer.Argument(help="a study's folder, or a file that Disentangler.save wrote")],
    out: Annotated[Path, typer.Option(help="model.onnx writes model.encoder.onnx and model.decoder.onnx")],
    run: Annotated[str | None, typer.Option(help="default: the run with the best held-out bound")] = None,
) -> None:
    """Write a trained model's encoder and decoder as ONNX files, in the units of the data."""
    from partita.cli.explore import chosen_run
    from partita.cli.own_parts import load_own_parts
    from partita.explorer import export_onnx
    from partita.explorer._open import explored_at

    if folder.is_dir():
        load_own_parts(folder)
    explored = explored_at(folder)
    chosen, why = chosen_run(explored, run)
    subject = explored.subject(chosen)
    if subject.model is None or subject.problem is not None:
        raise ValueError(f"{chosen} cannot be exported: {subject.problem}")
    if subject.exposure is not None:
        raise ValueError(
            f"{chosen} is told an exposure ({subject.exposure}) with each row, which ONNX files would lack"
        )
    files = export_onnx(subject.model, out, {"run": chosen, "method": subject.method})
    print(f"{files[0]} and {files[1]} are the encoder and decoder of {chosen} ({why})")
    if subject.covariates:
        print(f"both take a second input, covariates: {', '.join(subject.covariates)}")
