"""What every test may count on."""

import signal


def pytest_configure():
    """A shell that runs the tests in the background makes them deaf to Ctrl-C, and what they start too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
