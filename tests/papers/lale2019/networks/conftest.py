"""The networks of the tests are small: more threads than one only get in each other's way."""

from importlib.util import find_spec

import pytest


@pytest.fixture(autouse=True)
def _one_thread():
    if find_spec("torch") is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
