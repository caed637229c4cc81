"""Tests of evenpack.progress_bar."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import pytest
from evenpack.progress_bar import LineBar, NoBar, TqdmBar, progress_bar


class Terminal(io.StringIO):
    """What is written to a terminal."""

    def isatty(self) -> bool:
        return True


def _clock(*seconds: float) -> Callable[[], float]:
    times = iter(seconds)
    return lambda: next(times)


def test_nothing_is_drawn_elsewhere_than_on_a_terminal() -> None:
    stream = io.StringIO()
    with progress_bar("sending", 0, 10, stream) as bar:
        bar.advance(10)
    assert isinstance(bar, NoBar)
    assert stream.getvalue() == ""


def test_nothing_is_drawn_without_a_standard_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert isinstance(progress_bar("sending", 0, 10), NoBar)


def test_standard_error_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert isinstance(progress_bar("sending", 0, 10), LineBar)


def test_a_line_is_drawn_anew_and_removed() -> None:
    stream = Terminal()
    with LineBar(stream, "sending", 5, 20, _clock(0.0, 0.5, 1.0)) as bar:
        bar.advance(5)
        bar.advance(9)
    assert stream.getvalue() == (
        "\rsending [###############               ] 50%\x1b[K"
        "\rsending [############################  ] 95%\x1b[K"
        "\r\x1b[K"
    )


def test_what_is_over_soon_leaves_no_flicker() -> None:
    stream = Terminal()
    with LineBar(stream, "sending", 0, 20, _clock(0.0, 0.1, 0.19)) as bar:
        bar.advance(10)
        bar.advance(10)
    assert stream.getvalue() == ""


def test_it_is_drawn_five_times_a_second_at_most() -> None:
    stream = Terminal()
    bar = LineBar(stream, "a", 0, 100, _clock(0.0, 0.3, 0.4, 0.49, 0.51))
    for _ in range(4):
        bar.advance(1)
    assert stream.getvalue().count("\r") == 2
    assert "4%" in stream.getvalue()


@pytest.mark.parametrize("total", [None, 0])
def test_without_a_total_documents_are_counted(total: int | None) -> None:
    stream = Terminal()
    LineBar(stream, "sending", 5, total, _clock(0.0, 0.5)).advance(3)
    assert stream.getvalue() == "\rsending 8 documents\x1b[K"


def test_more_than_the_total_is_all_of_it() -> None:
    stream = Terminal()
    LineBar(stream, "sending", 0, 5, _clock(0.0, 0.5)).advance(9)
    assert stream.getvalue().endswith("] 100%\x1b[K")


def test_an_error_removes_the_line() -> None:
    stream = Terminal()
    with (
        pytest.raises(KeyError, match="broken"),
        LineBar(stream, "sending", 0, 5, _clock(0.0, 0.5)) as bar,
    ):
        bar.advance(1)
        raise KeyError("broken")
    assert stream.getvalue().endswith("\r\x1b[K")


def test_tqdm_draws_where_it_is_installed() -> None:
    pytest.importorskip("tqdm")
    stream = Terminal()
    with progress_bar("sending", 5, 20, stream) as bar:
        bar.advance(15)
    assert isinstance(bar, TqdmBar)
    assert "sending" in stream.getvalue()
    assert "5.00/20.0" in stream.getvalue()
