"""Values on their way from task to task: what goes in comes out, and what can't go says why."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dagbook.artifacts import codecs, logs
from dagbook.artifacts.codecs import NotCarried

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters())
    | st.binary()
    | st.datetimes()
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.decimals(allow_nan=False)
    | st.uuids()
)
KEYS = st.text() | st.integers() | st.just("$type")
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


@given(VALUES)
def test_plain_values_come_back_as_they_were(value):
    codec, data, _ = codecs.encode(value)
    data.decode("utf-8")
    back = codecs.decode(codec, data)
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize(
    "value",
    [
        math.inf,
        -math.inf,
        {1, 2},
        frozenset({"a"}),
        Decimal("1.10"),
        UUID(int=3),
        Path("/x/y"),
        "\udcff",
        datetime(2025, 1, 1, tzinfo=UTC),
        {("a", 1): [2]},
        {"$type": "tuple", "v": [1]},
    ],
)
def test_special_values_come_back_as_they_were(value):
    codec, data, _ = codecs.encode(value)
    assert codecs.decode(codec, data) == value


def test_nan_stays_nan():
    codec, data, _ = codecs.encode([math.nan])
    assert math.isnan(codecs.decode(codec, data)[0])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1, 2], "b": ["x", None], "c": pd.to_datetime(["2025-01-01", None])}),
        pd.DataFrame({"a": [1.5]}, index=pd.Index(["r"], name="i")),
        pd.DataFrame(),
        pd.DataFrame({"k": pd.Categorical(["a", "b", "a"])}),
    ],
)
def test_a_dataframe_comes_back_with_its_types_and_index(frame):
    codec, data, length = codecs.encode(frame)
    assert (codec, length) == ("arrow", len(frame))
    pd.testing.assert_frame_equal(codecs.decode(codec, data), frame)


def test_arrays_series_and_tables_inside_containers_come_back():
    value = {"a": np.arange(6).reshape(2, 3), "f": pd.DataFrame({"x": [1]})}
    back = codecs.decode(*codecs.encode(value)[:2])
    assert (back["a"] == value["a"]).all()
    pd.testing.assert_frame_equal(back["f"], value["f"])
    series = pd.Series([1.0, 2.0], name="s")
    pd.testing.assert_series_equal(codecs.decode(*codecs.encode(series)[:2]), series)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (lambda: 1, "the value is a builtins.function"),
        ([1, (x for x in ())], "the value[1] is a builtins.generator"),
        ({"a": {"b": object()}}, "the value['a']['b'] is a builtins.object"),
        (pd.DataFrame({"o": [object()]}), "column that Arrow can't carry"),
    ],
)
def test_what_cant_be_carried_names_its_type_its_place_and_the_way_out(value, words):
    with pytest.raises(NotCarried, match=r"return plain data|convert it") as caught:
        codecs.encode(value)
    assert words in str(caught.value)


IDS = st.text(st.characters(), min_size=1, max_size=300)


@given(IDS, IDS)
@example("\ud800", "\udfff")
@example("../..", "a/b")
def test_log_paths_stay_inside_and_apart(a, b):
    one, other = logs.relative_path("d", a, "t", -1, 1), logs.relative_path("d", b, "t", -1, 1)
    assert ".." not in one.split("/")
    assert not one.startswith("/")
    assert all(len(part.encode()) <= 130 for part in one.split("/"))
    assert (a == b) == (one == other)


def test_logs_are_read_in_pieces_and_never_outside_their_folder(tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "secret").write_text("x")
    (tmp_path / "logs/a.log").write_text("hello wörld")
    folder = tmp_path / "logs"
    first = logs.read(folder, "a.log", 0, complete=True, limit=6)
    assert (first.text, first.next_offset, first.complete) == ("hello ", 6, False)
    assert logs.read(folder, "a.log", 6, complete=True).text == "wörld"
    assert logs.read(folder, "a.log", -6, complete=True).text == "wörld"
    (folder / "link.log").symlink_to(tmp_path / "secret")
    assert logs.read(folder, "../secret", 0, complete=True).text == ""
    assert logs.read(folder, "link.log", 0, complete=True).text == ""
    assert logs.read(folder, "none.log", 0, complete=False).complete is False
