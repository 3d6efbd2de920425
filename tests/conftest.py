"""What every test may count on."""

import signal


def pytest_configure():
    """A shell that runs the tests in the background makes them deaf to Ctrl-C, and what they start too.

    So does nohup to a terminal that closes.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
