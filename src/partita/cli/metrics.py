"""partita metrics"""

from typing import Annotated

import typer


def metrics(as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False) -> None:
    """List the metrics, each with what it asks and whose protocols it knows."""
    from partita.metrics import METRICS

    rows = [
        {"name": name, "summary": metric.summary, "protocols": list(metric.protocols), "needs": metric.needs}
        for name, metric in METRICS.items()
    ]
    if as_json:
        import json

        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print(f"{row['name']:<24} {row['summary']}\n{'':<24} protocols: {', '.join(row['protocols'])}")
