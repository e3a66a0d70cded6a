"""The table in the body of a request, where a file can be read but not its values."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from twicetold.serving.request_tables import Refused, table_of

NO_UTF8 = pa.Array.from_buffers(
    pa.string(), 1, [None, pa.py_buffer(np.array([0, 2], np.int32).tobytes()), pa.py_buffer(b"\xff\xfe")]
)


@pytest.mark.parametrize(
    "values",
    [NO_UTF8, pa.array([2**60], pa.timestamp("us")), pa.array([2**31 - 1], pa.date32())],
    ids=["no UTF-8", "a time beyond all years", "a day beyond all years"],
)
def test_values_of_parquet_that_python_cannot_hold_are_refused_in_words(values):
    body = io.BytesIO()
    pq.write_table(pa.table({"text": values}), body)
    with pytest.raises(Refused, match="expected a Parquet file, got one that cannot be read") as caught:
        table_of(body.getvalue(), "application/vnd.apache.parquet")
    assert caught.value.status == 400
