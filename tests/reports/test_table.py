"""The numbers of the tables."""

import numpy as np
import pytest

from partita.metrics import METRICS, over_runs
from partita.plot._style import readable
from partita.reports._table import ABREAST, metric_columns, result_columns, tables_of
from partita.reports.study import Setting
from partita.studies.scores import COLUMNS


def column(header: str):
    return next(c for c in COLUMNS if c.header == header)


def settings_with(*scores) -> list[Setting]:
    from partita.reports.study import Record
    from partita.studies import Run

    run = Run("vae", {}, {"shape": [3], "hidden": [8]}, {}, 10, 4, 1e-3, 0)
    return [Setting("vae", tuple(Record(run, "finished", "", {}, score) for score in scores))]


def test_pc_is_compared_with_its_null_run_by_run():
    scores = [{"correlation": {"pc": pc, "null": {"pc": {"mean": null}}}} for pc, null in ((1.0, 0.75), (2.0, 0.25))]
    summary = column("PC − null").summary(scores)
    assert summary.value == pytest.approx(np.mean([0.25, 1.75]))
    assert summary.interval == over_runs([0.25, 1.75]).interval


def test_missing_and_infinite_values_are_left_out_and_counted():
    (setting,) = settings_with({"elbo": -3.0}, {"elbo": float("nan")}, {}, None, {"elbo": None})
    summary = column("ELBO").summary(record.scores for record in setting.records)
    assert (summary.value, summary.n) == (-3.0, 1)
    assert [c.header for c in result_columns([setting])] == ["ELBO"]
    assert column("R²").summary(record.scores for record in setting.records) is None


def test_metric_columns_carry_protocol_direction_and_parts():
    parts = {"disentanglement": 0.1, "completeness": 0.2, "informativeness": 0.3}
    found = {
        "dci": {"value": 0.1, "parts": parts, "protocol": "dlib-2019", "n": 50},
        "mig": {"value": 0.4, "parts": {}, "protocol": "ubisoft-2020", "n": 50},
        "of_ours": {"value": 1.0, "parts": {}, "protocol": "", "n": 50},
    }
    columns = metric_columns(settings_with({"metrics": found}))
    assert [c.header for c in columns] == ["mig", *parts, "of_ours"]
    assert METRICS["mig"].summary in columns[0].explanation
    assert "ubisoft-2020, n = 50" in columns[0].explanation
    assert columns[0].arrow == "↑"
    assert [c.summary([{"metrics": found}]).value for c in columns[1:4]] == [0.1, 0.2, 0.3]


def test_tables_hold_every_column_once_and_few_abreast():
    tables = tables_of(COLUMNS)
    assert [column for _, own in tables for column in own] == list(COLUMNS)
    assert max(len(own) for _, own in tables) == ABREAST
    assert all({column.band for column in own} == {name} for name, own in tables)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1234, "0.123"),
        (-0.0001, "0.000"),
        (-2.5, "−2.500"),
        (5341.38, "5341.4"),
        (-4.62e30, "−4.62e+30"),
        (0.0, "0.000"),
    ],
)
def test_readable(value, text):
    assert readable(value, 3) == text
