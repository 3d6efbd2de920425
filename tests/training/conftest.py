import pytest
import torch


@pytest.fixture(autouse=True)
def _one_thread():
    """Tests run side by side; the sums of one thread are always the same."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
