"""Debian's Chromium without a window, as a test drives it."""

from __future__ import annotations

import shutil
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from child_process import DEADLINE
from playwright.sync_api import Page, Request, sync_playwright

MILLISECONDS = 1000

Scheme = Literal["light", "dark"]


def _program() -> str:
    program = shutil.which("chromium")
    if program is None:
        raise AssertionError("chromium is not installed; deploy/packages.txt has it")
    return program


class View:
    """A tab that shows one page, and what its browser had to say of it."""

    def __init__(self, page: Page) -> None:
        """Notes what happens from here on."""
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.set_default_timeout(DEADLINE * MILLISECONDS)
        page.on("pageerror", lambda error: self.complaints.append(f"{error}"))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("request", self._note_request)

    def _note_request(self, request: Request) -> None:
        self.requests.append(request.url)

    def hosts(self) -> set[str]:
        """Every host and port that was asked for something."""
        return {urlsplit(url).netloc for url in self.requests}

    def await_true(self, expression: str, argument: object = None) -> None:
        """Waits until a JavaScript function of the argument is true in the page."""
        self.page.wait_for_function(expression, arg=argument)

    def text(self, selector: str) -> str:
        """What the element shows."""
        return self.page.locator(selector).inner_text()

    def evaluate(self, expression: str, argument: object = None) -> Any:  # noqa: ANN401
        """What a JavaScript function of the argument returns in the page."""
        return self.page.evaluate(expression, argument)


class Browser:
    """A browser for a whole test class; leaving the context ends it."""

    def __enter__(self) -> Self:
        """Starts it."""
        self._driver = sync_playwright().start()
        # Tests may run as root, for whom Chromium has no sandbox.
        self._browser = self._driver.chromium.launch(
            executable_path=_program(), args=["--no-sandbox"]
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends it."""
        self._browser.close()
        self._driver.stop()

    def view(
        self,
        address: str,
        route: str = "#/",
        *,
        width: int = 1280,
        height: int = 900,
        scheme: Scheme = "light",
    ) -> View:
        """The live page of the server at an HTTP address, shown anew."""
        context = self._browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            reduced_motion="reduce",
        )
        view = View(context.new_page())
        view.page.goto(f"http://{address}/{route}")
        return view
