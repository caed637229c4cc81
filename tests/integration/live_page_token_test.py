"""The live page of a server with roles."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from browser import View
from live_page_case import LivePageCase
from observed_job import ObservedJob
from playwright.sync_api import Route
from role_callers import hash_of
from server_process import ServerProcess

SHOWS_JOBS = "() => document.body.innerText.includes('No job yet')"
SHOWS_STATUS = "(text) => document.getElementById('status').innerText === text"
SHOWS_BANNER = "() => !document.getElementById('banner').hidden"
HIDES_FORM = "() => document.getElementById('token').hidden"
# A minute of the page's clock, in milliseconds.
MINUTE = 60_000


class TokenCase(LivePageCase):
    def setUp(self) -> None:
        super().setUp()
        self.expected_complaints = ("Failed to load resource: the server responded",)

    def serve_with_roles(self) -> None:
        """From now on a consumer and a producer have a token of that name."""
        roles = Path(self.enterContext(tempfile.TemporaryDirectory()), "roles.yaml")
        grants = [
            f"{{role: {role}, jobs: ['*'], tokens: ['{role}:{hash_of(role)}']}}"
            for role in ("consumer", "producer")
        ]
        roles.write_text(f"grants: [{', '.join(grants)}]\n")
        self.server = self.enterContext(ServerProcess("--roles", f"{roles}"))

    def give(self, view: View, token: str) -> None:
        view.page.get_by_label("Token").fill(token)
        view.page.get_by_role("button", name="Show jobs").click()

    def open_timed(self, route: str = "#/") -> View:
        """A page whose clock is the test's."""
        view = self.open("pages")
        view.page.clock.install()
        view.page.goto(f"http://{self.server.http_address}/{route}")
        return view

    def asked(self, view: View) -> int:
        return sum("/api/" in url for url in view.requests)


class TokenTest(TokenCase):
    def test_a_server_with_roles_is_shown_to_who_has_a_token(self) -> None:
        self.serve_with_roles()
        view = self.open()
        self.give(view, "wrong")
        view.await_true(SHOWS_BANNER)
        self.give(view, "consumer")
        view.await_true(HIDES_FORM)
        view.await_true(SHOWS_JOBS)
        view.page.reload()
        view.await_true(SHOWS_JOBS)
        self.assertTrue(view.evaluate(HIDES_FORM))

    def test_a_token_that_no_header_can_have_is_refused_at_once(self) -> None:
        """As one that was pasted with a space that can't be seen."""
        self.serve_with_roles()
        view = self.open_timed()
        view.await_true(SHOWS_STATUS, "Token needed")
        self.give(view, "consumer\u200b")
        field = view.page.get_by_label("Token")
        self.assertTrue(field.evaluate("it => it.matches(':invalid')"))
        self.assertEqual(view.text("#status"), "Token needed")
        self.give(view, " consumer ")
        view.await_true(SHOWS_JOBS)

    def test_nothing_is_asked_until_there_is_a_token(self) -> None:
        self.serve_with_roles()
        view = self.open_timed()
        view.await_true(SHOWS_STATUS, "Token needed")
        self.assert_rests(view)
        self.give(view, "consumer")
        view.await_true(SHOWS_JOBS)

    def test_who_has_not_the_role_can_give_another_token(self) -> None:
        self.serve_with_roles()
        view = self.open_timed("#/jobs/run-7")
        self.give(view, "producer")
        view.await_true(SHOWS_STATUS, "Refused")
        self.assertIn("has not the role 'consumer'", view.text("#banner"))
        view.page.get_by_label("Another token").wait_for()
        self.assert_rests(view)
        self.give(view, "consumer")
        view.await_true(SHOWS_STATUS, "Not found")
        self.assertTrue(view.evaluate(HIDES_FORM))

    def assert_rests(self, view: View) -> None:
        """Neither with time, nor where the page is seen again."""
        asked = self.asked(view)
        view.page.clock.run_for(MINUTE)
        view.evaluate(
            """() => {
                 document.dispatchEvent(new Event('visibilitychange'));
                 window.dispatchEvent(new Event('online'));
               }"""
        )
        self.assertEqual(self.asked(view), asked)


class RefusedJobsTest(TokenCase):
    """Some jobs' figures are refused, by the test itself."""

    def setUp(self) -> None:
        super().setUp()
        for name in ("a1", "a2", "b1"):
            ObservedJob(self.server, name).feed_steps(2)
        self.refused: list[str] = []
        self.list_is_open = True

    def refuse(self, route: Route) -> None:
        self.refused.append(route.request.url.split("/")[-1].split("?")[0])
        route.fulfill(status=403, json={"message": "role"})

    def list_jobs(self, route: Route) -> None:
        if self.list_is_open:
            route.continue_()
        else:
            route.fulfill(status=401, json={"message": "token"})

    def open_jobs(self) -> View:
        view = self.open("pages")
        view.page.route("**/api/v1/jobs/a*", self.refuse)
        view.page.route("**/api/v1/jobs?*", self.list_jobs)
        view.page.goto(f"http://{self.server.http_address}/")
        return view

    def await_turns(self, view: View) -> None:
        """Of a job that is not refused."""
        asked = """() => performance.getEntriesByType('resource')
          .filter(({ name }) => name.includes('jobs/b1?')).length"""
        before = view.evaluate(asked)
        view.await_true(f"(before) => ({asked})() > before + 2", before)

    def test_they_are_asked_for_once(self) -> None:
        view = self.open_jobs()
        self.await_turns(view)
        self.assertCountEqual(self.refused, ["a1", "a2"])
        view.page.get_by_role("link", name="b1").click()
        view.await_true(SHOWS_STATUS, "Live")
        view.page.get_by_role("link", name="Jobs").click()
        self.await_turns(view)
        self.assertCountEqual(self.refused, ["a1", "a2"])

    def test_another_token_is_tried_on_them(self) -> None:
        view = self.open_jobs()
        self.await_turns(view)
        self.list_is_open = False
        view.await_true(SHOWS_STATUS, "Token needed")
        self.list_is_open = True
        self.give(view, "another")
        self.await_turns(view)
        self.assertCountEqual(self.refused, ["a1", "a2"] * 2)


if __name__ == "__main__":
    unittest.main()
