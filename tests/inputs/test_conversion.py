"""Vectors as people keep them: what pandas, polars, Arrow and torch hold means the same numbers, or says what to do."""

import re

import numpy as np
import pytest

from eigenbandits import inputs
from eigenbandits.inputs.conversion import to_array

VECTORS = [[1.0, -2.5], [3.0, 0.25]]


def read(value, expected=VECTORS):
    found = inputs.as_actions(value, 2)
    assert found.dtype == np.float64
    assert found.tolist() == expected


def refused(value, message):
    with pytest.raises(ValueError, match=r"^actions") as caught:
        inputs.as_actions(value, 2)
    assert str(caught.value) == message


@pytest.mark.filterwarnings("error")
def test_pandas():
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    arrow = pandas.ArrowDtype
    read(pandas.Series(VECTORS))
    read(pandas.Series([np.array(row, dtype=np.float32) for row in VECTORS], index=[7, 3]))
    read(pandas.Series(VECTORS, dtype=arrow(pyarrow.list_(pyarrow.float64()))))
    read(pandas.DataFrame({"vector": VECTORS}))
    read(pandas.DataFrame(VECTORS, dtype="Float64"))
    read(pandas.DataFrame(VECTORS, dtype=arrow(pyarrow.float64())))
    read(pandas.DataFrame({"a": pandas.array([1, 3], dtype="Int64"), "b": [-2.5, 0.25]}))
    assert inputs.as_rewards(pandas.Series([1, 0], dtype="Int64"), 2).tolist() == [1.0, 0.0]
    assert inputs.as_rewards(pandas.Series([True, False], dtype="boolean"), 2).tolist() == [1.0, 0.0]
    assert inputs.as_allowed(pandas.Series([False, True], dtype="boolean"), 2).tolist() == [1]
    missing = "actions holds <NA> at (0, 1); expected real numbers, with none missing."
    refused(pandas.DataFrame([[1.0, None], [3.0, 4.0]], dtype="Float64"), missing)
    refused([[1.0, pandas.NA]], missing)
    with pytest.raises(ValueError, match=r"^rewards holds nan at \(1,\)"):
        inputs.as_rewards(pandas.Series([1.0, None], dtype="Float64"), 2)
    with pytest.raises(ValueError, match=r"^allowed holds <NA> at \(1,\); expected real numbers, with none missing\.$"):
        inputs.as_allowed(pandas.Series([True, None], dtype="boolean"), 2)


@pytest.mark.filterwarnings("error")
def test_polars():
    polars = pytest.importorskip("polars")
    read(polars.Series(VECTORS))
    read(polars.Series(VECTORS, dtype=polars.List(polars.Float32)))
    read(polars.Series(VECTORS, dtype=polars.Array(polars.Float64, 2)))
    read(polars.DataFrame({"vector": VECTORS}))
    read(polars.DataFrame({"a": [1.0, 3.0], "b": [-2.5, 0.25]}))
    refused(polars.Series([[1.0, None], [3.0, 4.0]]), "actions holds nan at (0, 1); expected finite numbers only.")
    refused(polars.Series([[1.0, 2.0], None]), "actions holds None in row 1; expected a vector in each row.")
    ragged = "actions holds 2 numbers in row 0 and 1 in row 1; expected rows of equal length."
    refused(polars.Series([[1.0, 2.0], [3.0]]), ragged)


@pytest.mark.filterwarnings("error")
def test_arrow():
    pa = pytest.importorskip("pyarrow")
    fixed = pa.list_(pa.float32(), 2)
    read(pa.array(VECTORS))
    read(pa.array(VECTORS, fixed))
    read(pa.array([[9.0, 9.0], *VECTORS], fixed)[1:])
    read(pa.array(VECTORS, pa.large_list(pa.float64())))
    read(pa.chunked_array([pa.array(VECTORS[:1]), pa.array(VECTORS[1:])]))
    read(pa.table({"vector": VECTORS}))
    read(pa.table({"a": [1.0, 3.0], "b": [-2.5, 0.25]}))
    refused(pa.array([[1.0, 2.0], None]), "actions holds None in row 1; expected a vector in each row.")
    refused(pa.array([[1.0, None], [3.0, 4.0]]), "actions holds nan at (0, 1); expected finite numbers only.")


@pytest.mark.filterwarnings("error")
def test_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed: it is no dependency, only welcome input")
    narrow = torch.tensor(VECTORS, dtype=torch.bfloat16)
    read(narrow)
    read(list(narrow))
    read(torch.tensor(VECTORS).to(torch.float8_e4m3fn))
    # 0.1 in eight binary digits: 205/2048.
    assert inputs.as_action(torch.tensor([0.1, 1.0], dtype=torch.bfloat16), 2).tolist() == [205 / 2048, 1.0]
    assert inputs.as_rewards(narrow[:, 0], 2).tolist() == [1.0, 3.0]
    assert inputs.as_reward(narrow[0, 1]) == -2.5
    # What the library could only guess at, torch says itself.
    for tensor, hint in ((narrow.requires_grad_(), "detach()"), (torch.tensor(VECTORS).to_sparse(), "to_dense()")):
        with pytest.raises(ValueError, match=rf"^actions cannot be read.*{re.escape(hint)}.*\.$"):
            inputs.as_actions(tensor, 2)


def test_other_numbers_of_half_precision():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes, which JAX uses, is not installed")
    read(np.array(VECTORS, dtype=ml_dtypes.bfloat16))


def test_masked_arrays():
    """A mask that hides nothing is no mask; one that hides something is refused, wherever it comes."""
    read(np.ma.masked_array(VECTORS))
    read([np.ma.masked_array(row, [False, False]) for row in VECTORS])
    hidden = np.ma.masked_array([True, True], [False, True])
    message = "has masked entries; expected numbers only. Leave out their rows, or fill them with filled()."
    refused([[1.0, 2.0], np.ma.masked_array([1.0, 2.0], [False, True])], f"actions {message}")
    with pytest.raises(ValueError, match=r"^allowed has masked entries"):
        inputs.as_allowed(hidden, 2)
    with pytest.raises(ValueError, match=r"^rewards has masked entries"):
        inputs.as_rewards(hidden, 2)


def test_objects():
    read(np.array(VECTORS, dtype=object))
    assert to_array(np.array([True, False], dtype=object), "allowed").dtype == bool
    none_missing = "expected real numbers, with none missing."
    for value, message in [
        (np.array([[1.0, "2"]], dtype=object), f"actions holds '2' at (0, 1); {none_missing}"),
        (np.array([[1.0, object]], dtype=object), f"actions holds <class 'object'> at (0, 1); {none_missing}"),
        ([[10**400, 1.0]], "actions cannot be read as an array of numbers: int too large to convert to float."),
        (np.array([[1.0, 2.0], "ab"], dtype=object), "actions holds 'ab' in row 1; expected a vector in each row."),
        ({"a": 1.0}, "actions holds a dict; expected real numbers in rows of equal length."),
    ]:
        refused(value, message)
    sparse = pytest.importorskip("scipy.sparse").csr_array(np.array(VECTORS))
    message = "actions holds a csr_array; expected real numbers in rows of equal length; use actions.toarray()."
    refused(sparse, message)
    read(sparse.toarray())
