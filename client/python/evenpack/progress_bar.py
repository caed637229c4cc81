"""How far long work has come, for a person at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from time import monotonic
from types import ModuleType, TracebackType
from typing import Protocol, TextIO

_WIDTH = 30
# Nothing is drawn in the first interval, so that short work leaves no flicker.
_SECONDS = 0.2


class ProgressBar(Protocol):
    """Shows documents; as a context manager it goes away at the end. One thread."""

    def advance(self, documents: int) -> None:
        """So many more are done."""
        ...

    def __enter__(self) -> ProgressBar:
        """Itself."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Removes what was drawn."""
        ...


class _Bar:
    """What the bars share."""

    def advance(self, documents: int) -> None: ...

    def close(self) -> None: ...

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class TqdmBar(_Bar):
    """A bar of tqdm's."""

    def __init__(
        self, tqdm: ModuleType, stream: TextIO, label: str, done: int, total: int | None
    ) -> None:
        """Draws with `tqdm`, the module, on a terminal; see `progress_bar`."""
        self._bar = tqdm.tqdm(
            desc=label,
            initial=done,
            total=total,
            unit=" documents",
            unit_scale=True,
            file=stream,
            leave=False,
            dynamic_ncols=True,
        )

    def advance(self, documents: int) -> None:
        """See `ProgressBar`."""
        self._bar.update(documents)

    def close(self) -> None:
        """Removes it."""
        self._bar.close()


class LineBar(_Bar):
    """A line that is drawn anew."""

    def __init__(
        self,
        stream: TextIO,
        label: str,
        done: int,
        total: int | None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Draws on a terminal; `clock` gives seconds; see `progress_bar`."""
        self._stream = stream
        self._label = label
        self._done = done
        self._total = total
        self._clock = clock
        self._last = clock()
        self._drawn = False

    def advance(self, documents: int) -> None:
        """See `ProgressBar`; more often than five times a second costs a look."""
        self._done += documents
        now = self._clock()
        if now - self._last < _SECONDS:
            return
        self._last = now
        self._drawn = True
        self._stream.write(f"\r{self._line()}\x1b[K")
        self._stream.flush()

    def _line(self) -> str:
        if not self._total:
            return f"{self._label} {self._done} documents"
        share = min(self._done / self._total, 1.0)
        bar = "#" * int(share * _WIDTH)
        return f"{self._label} [{bar:<{_WIDTH}}] {int(share * 100)}%"

    def close(self) -> None:
        """Removes it."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


class NoBar(_Bar):
    """Draws nothing."""


def progress_bar(
    label: str, done: int, total: int | None, stream: TextIO | None = None
) -> ProgressBar:
    """A bar on a terminal: tqdm's where that is installed; nothing elsewhere.

    Args:
        label: what is done.
        done: documents that were done before.
        total: documents in all; None: not known.
        stream: standard error where None.
    """
    out = sys.stderr if stream is None else stream
    # Programs without a console have none.
    if out is None or not out.isatty():
        return NoBar()
    try:
        tqdm = import_module("tqdm")
    except ImportError:
        return LineBar(out, label, done, total)
    return TqdmBar(tqdm, out, label, done, total)
