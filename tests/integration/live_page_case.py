"""What tests of the live page in a browser have in common."""

from __future__ import annotations

import unittest

from browser import Browser, Scheme, View
from observed_job import ObservedJob
from server_process import ServerProcess

SHOWS_STEPS = """(steps) => document.querySelector('.panels:not([hidden])')
  ?.dataset.nextStep === `${steps}`"""
SHOWS_PLAN = "() => document.querySelector('#plan[data-micro-batch]')"


class LivePageCase(unittest.TestCase):
    """A browser for all tests of a class, a server for each."""

    browser: Browser

    @classmethod
    def setUpClass(cls) -> None:
        """Starts the browser."""
        cls.browser = cls.enterClassContext(Browser())

    def setUp(self) -> None:
        """Starts the server."""
        self.server = self.enterContext(ServerProcess())
        self.views: list[View] = []
        self.expected_complaints: tuple[str, ...] = ()

    def tearDown(self) -> None:
        """No page complained or asked anybody but the server."""
        for view in self.views:
            found = [
                line
                for line in view.complaints
                if not line.startswith(self.expected_complaints or ("\0",))
            ]
            self.assertEqual(found, [])
            self.assertEqual(view.hosts(), {self.server.http_address})
            view.page.context.close()

    def open(
        self, route: str = "#/", *, width: int = 1280, scheme: Scheme = "light"
    ) -> View:
        """The page at a route."""
        view = self.browser.view(
            self.server.http_address, route, width=width, scheme=scheme
        )
        self.views.append(view)
        return view

    def open_job(
        self, job: ObservedJob, *, width: int = 1280, scheme: Scheme = "light"
    ) -> View:
        """The page of a job, once it shows all steps that there are."""
        view = self.open(f"#/jobs/{job.name}", width=width, scheme=scheme)
        view.await_true(SHOWS_STEPS, job.held().next_step)
        return view
