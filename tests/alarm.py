"""Has a task's execution timeout strike at a moment that the test chooses."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def timeout_after(wait: Callable[[], object]) -> Iterator[None]:
    """Lets the timeout strike as soon as the wait is over, however slow the machine is."""
    main = threading.main_thread().ident
    assert main is not None

    def strike() -> None:
        wait()
        signal.pthread_kill(main, signal.SIGALRM)

    striking = threading.Thread(target=strike)
    striking.start()
    try:
        yield
    finally:
        striking.join()
