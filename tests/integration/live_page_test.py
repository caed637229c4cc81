"""The live page in a browser: it shows what the API says, and keeps up with it."""

from __future__ import annotations

import signal
import unittest
from typing import Any

from browser import Scheme, View
from child_process import wait_until
from evenpack.v1 import packing_service_pb2 as api
from live_page_case import SHOWS_PLAN, SHOWS_STEPS, LivePageCase
from observed_job import ObservedJob, observed_spec
from playwright.sync_api import Route
from server_process import ServerProcess

# What each bar of the chart of micro-batches stands for.
BARS = """() => Object.fromEntries(
  [...document.querySelectorAll('#micro-batches .bar')].map(({ dataset }) =>
    [`${dataset.kind} ${dataset.key}`, Number(dataset.value)]))"""
# What is drawn as waiting after a step.
QUEUED = """(step) => Object.fromEntries(
  [...document.querySelectorAll('#queues .stacked')]
    .filter(({ dataset }) => dataset.step === step)
    .map(({ dataset }) => [dataset.queue, Number(dataset.value)]))"""


# Notes each text that an element has from now on.
NOTE_TEXTS = """(ids) => {
  window.texts = {};
  for (const id of ids) {
    const element = document.getElementById(id);
    const texts = new Set([element.textContent]);
    window.texts[id] = texts;
    new MutationObserver(() => texts.add(element.textContent))
      .observe(element, { childList: true, characterData: true, subtree: true });
  }
}"""
BANNER_SAYS = """(text) => document.getElementById('banner').innerText
  .startsWith(text)"""


def numbers(values: list[Any]) -> list[int]:
    """A column of 64-bit integers, which JSON has as text."""
    return [int(value) for value in values]


class FiguresTest(LivePageCase):
    def test_jobs_are_listed_with_what_they_do(self) -> None:
        ObservedJob(self.server, "empty")
        job = ObservedJob(self.server)
        job.feed_steps(3)
        view = self.open()
        view.await_true(
            "() => /1\\.\\d{3}/.test(document.querySelector('#jobs')?.innerText)"
        )
        rows = view.evaluate(
            """() => [...document.querySelectorAll('#jobs tbody tr')].map((row) =>
               [...row.cells].map((cell) => cell.textContent))"""
        )
        self.assertEqual([row[0] for row in rows], ["empty", "run-7"])
        self.assertEqual([row[1] for row in rows], ["No step yet", "Running"])
        held = job.held()
        self.assertEqual(rows[1][2], f"{held.epoch}")
        self.assertEqual(rows[1][3], f"{held.next_step}")
        totals = job.read()["totals"]
        self.assertEqual(rows[1][7], f"{totals['weightedImbalance']:.3f}")
        self.assertEqual(rows[1][8], f"{totals['originalWeightedImbalance']:.3f}")
        view.page.get_by_role("link", name="run-7").click()
        view.await_true(SHOWS_STEPS, held.next_step)
        self.assertEqual(view.text("h1"), "run-7")

    def test_jobs_that_give_no_figures_hide_no_others(self) -> None:
        self.expected_complaints = ("Failed to load resource",)
        for name in ("a1", "a2", "a3", "a4"):
            ObservedJob(self.server, name)
        ObservedJob(self.server, "b1").feed_steps(3)
        view = self.open("pages")
        view.page.route(
            "**/api/v1/jobs/a*", lambda route: route.fulfill(status=503, json={})
        )
        view.page.goto(f"http://{self.server.http_address}/")
        view.await_true(
            "() => /b1.*1\\.\\d{3}/s.test(document.querySelector('#jobs')?.innerText)"
        )

    def listed(self, view: View) -> list[str]:
        """The names in the list of jobs."""
        names: list[str] = view.evaluate(
            """() => [...document.querySelectorAll('#jobs tbody th')]
                 .map((cell) => cell.textContent)"""
        )
        return names

    def test_jobs_are_turned_over_page_by_page(self) -> None:
        self.expected_complaints = ("Failed to load resource",)
        for name in ("a", "b", "c", "d", "e"):
            ObservedJob(self.server, name)
        view = self.open("pages")

        def shorten(route: Route) -> None:
            """Two jobs to a page rather than 100."""
            route.continue_(url=route.request.url.replace("size=100", "size=2"))

        view.page.route("**/api/v1/jobs?*", shorten)
        view.page.goto(f"http://{self.server.http_address}/")
        previous = view.page.get_by_role("button", name="Previous page")
        later = view.page.get_by_role("button", name="Next page")
        wait_until(lambda: self.listed(view) == ["a", "b"], "the first page")
        self.assertEqual(view.text(".hint"), "Page 1: 2 jobs, by name")
        self.assertTrue(previous.is_disabled())
        later.click()
        wait_until(lambda: self.listed(view) == ["c", "d"], "the second page")
        later.click()
        wait_until(lambda: self.listed(view) == ["e"], "the last page")
        self.assertEqual(view.text(".hint"), "Page 3: 1 job, by name")
        self.assertTrue(later.is_disabled())
        self.server.stub.DeleteJob(api.DeleteJobRequest(name="e"))
        wait_until(lambda: self.listed(view) == ["c", "d"], "the last that is left")
        previous.click()
        wait_until(lambda: self.listed(view) == ["a", "b"], "the first page again")
        for name in ("c", "d"):
            self.server.stub.DeleteJob(api.DeleteJobRequest(name=name))
        wait_until(lambda: view.text(".hint") == "2 jobs", "there is one page")
        self.assertFalse(later.is_visible())

    def test_jobs_that_others_lead_or_are_broken_are_counted(self) -> None:
        self.expected_complaints = ("Failed to load resource",)
        ObservedJob(self.server, "a")
        view = self.open("pages")

        def add_others(route: Route) -> None:
            answer = route.fetch().json()
            answer["ledElsewhere"] = [{"name": "b", "address": "other:7654"}]
            answer["brokenJobs"] = [{"name": "c", "error": "damaged"}]
            route.fulfill(json=answer)

        view.page.route("**/api/v1/jobs?*", add_others)
        view.page.goto(f"http://{self.server.http_address}/")
        view.await_true("() => document.querySelector('#jobs tbody')")
        self.assertEqual(view.text(".hint"), "3 jobs")
        self.assertEqual(sorted(self.listed(view)), ["a", "b", "c"])

    def test_a_job_is_shown_as_the_api_has_it(self) -> None:
        job = ObservedJob(self.server)
        job.feed_steps(20)
        with job.followers() as trainers:
            trainers.await_steps("0", 20)
            trainers.await_steps("1", 20)
            wait_until(lambda: job.held().durable_steps >= 20, "steps are durable")
            view = self.open_job(job)
            self.assert_shows(view, job.read())

    def assert_shows(self, view: View, answer: dict[str, Any]) -> None:
        self.assert_tiles(view, answer)
        bars = view.evaluate(BARS)
        last = answer["steps"][-1]
        for step in answer["steps"][-5:]:
            for kind, column in (("workload", "workloadNs"), ("tokens", "tokens")):
                shown = [bars[f"{kind} {step['index']}/{i}"] for i in range(4)]
                self.assertEqual(shown, numbers(step[column]))
        for unit in ("Tokens", "Documents"):
            view.page.get_by_label("Count what waits in").select_option(unit)
            queued = view.evaluate(QUEUED, last["index"])
            waiting = {
                f"{i}": count for i, count in enumerate(numbers(last[f"queue{unit}"]))
            }
            waiting["left-over"] = int(last.get(f"leftOver{unit}", 0))
            self.assertEqual(queued, {k: v for k, v in waiting.items() if v})
        delays = view.evaluate(
            """() => [...document.querySelectorAll('#delay .bar')]
                 .map((bar) => Number(bar.dataset.value))"""
        )
        counted = numbers(answer["totals"]["delayDocuments"])
        self.assertEqual(delays, counted[: len(delays)])
        self.assertEqual(sum(delays), sum(counted))
        self.assertIn("corpus", view.text("#streams"))
        rows = view.page.locator("#subscribers tbody tr")
        self.assertEqual(rows.count(), 2)

    def assert_tiles(self, view: View, answer: dict[str, Any]) -> None:
        totals, job = answer["totals"], answer["job"]

        def tile(name: str) -> str:
            return view.text(f"[data-tile={name}]")

        mine = totals["weightedImbalance"]
        plain = totals["originalWeightedImbalance"]
        self.assertIn(f"{mine:.3f}", tile("imbalance"))
        self.assertIn(f"plain packing {plain:.3f}", tile("imbalance"))
        self.assertIn(f"{plain / mine:.2f}\u00d7", tile("gain"))
        self.assertIn(f"\n{job['nextStep']}\n", tile("steps"))
        self.assertIn(f"{job['durableSteps']} durable", tile("steps"))
        self.assertIn(
            f"tokens in {job.get('waitingDocuments', '0')} document", tile("waiting")
        )
        self.assertIn("2", tile("subscribers"))

    def test_each_chart_is_a_table_too(self) -> None:
        job = ObservedJob(self.server)
        job.feed_steps(4)
        view = self.open_job(job)
        for panel in ("micro-batches", "imbalance", "queues", "delay"):
            view.page.locator(f"#{panel} summary").click()
            table = view.page.locator(f"#{panel} details table")
            table.wait_for()
            self.assertGreater(table.locator("tbody tr").count(), 1)
        last = job.read()["steps"][-1]
        first_row = view.page.locator("#imbalance details tbody tr").first
        self.assertEqual(
            first_row.inner_text().split(),
            [
                last["index"],
                f"{last['imbalance']:.3f}",
                f"{last['originalImbalance']:.3f}",
            ],
        )

    def test_of_many_subscribers_the_slowest_are_listed(self) -> None:
        job = ObservedJob(self.server)
        count = 70
        observers = [job.observer(f"observer-{i}") for i in range(count)]
        with job.followers(*observers) as all_of_them:
            all_of_them.await_subscribed()
            view = self.open_job(job)
            rows = view.page.locator("#subscribers tbody tr")
            self.assertEqual(rows.count(), 64)
            self.assertIn(f"The slowest 64 of {count}", view.text("#subscribers .hint"))
            self.assertIn(f"\n{count}\n", view.text("[data-tile=subscribers]"))

    def test_names_are_only_text(self) -> None:
        name = "<img src=x onerror=alert(1)>"
        job = ObservedJob(self.server, spec=observed_spec(streams=(name,)))
        job.feed_steps(2)
        with job.followers(job.subscription(0, name)) as trainers:
            trainers.await_subscribed()
            view = self.open_job(job)
            self.assertIn(name, view.text("#streams"))
            self.assertIn(name, view.text("#subscribers"))
            self.assertEqual(view.page.locator("img").count(), 0)


class LookTest(LivePageCase):
    def test_a_phone_needs_no_scrolling_sideways(self) -> None:
        spec = observed_spec(micro_batches=32, context=2)
        job = ObservedJob(self.server, spec=spec)
        job.feed_steps(3)
        with job.followers() as trainers:
            trainers.await_subscribed()
            views = [self.open_job(job, width=360), self.open("#/", width=360)]
            views[0].await_true(SHOWS_PLAN)
            views[1].await_true("() => document.querySelector('#jobs td')")
            for view in views:
                width = view.evaluate("() => document.documentElement.scrollWidth")
                self.assertLessEqual(width, 360)

    def test_dark_mode_has_its_own_colours(self) -> None:
        schemes: tuple[Scheme, Scheme] = ("light", "dark")
        light, dark = (
            self.open("#/", scheme=scheme).evaluate(
                "() => getComputedStyle(document.body).backgroundColor"
            )
            for scheme in schemes
        )
        self.assertEqual(light, "rgb(244, 246, 248)")
        self.assertEqual(dark, "rgb(14, 19, 24)")

    def test_what_has_nothing_yet_says_so(self) -> None:
        view = self.open()
        view.page.get_by_role("heading", name="No job yet").wait_for()
        ObservedJob(self.server, "empty")
        view.page.get_by_role("link", name="empty").click()
        view.await_true(SHOWS_STEPS, 0)
        self.assertIn("No step was decided yet.", view.text("#micro-batches"))
        self.assertIn("Nobody follows", view.text("#subscribers"))


class KeyboardTest(LivePageCase):
    def test_skipping_to_the_figures_stays_with_the_job(self) -> None:
        job = ObservedJob(self.server)
        job.feed_steps(2)
        view = self.open_job(job)
        view.page.keyboard.press("Tab")
        view.page.keyboard.press("Enter")
        view.await_true("() => document.activeElement.id === 'content'")
        self.assertTrue(view.page.url.endswith(f"#/jobs/{job.name}"))
        self.assertEqual(view.text("h1"), job.name)
        view.page.keyboard.press("Tab")
        self.assertTrue(view.evaluate("() => document.activeElement.closest('main')"))


class ChangeTest(LivePageCase):
    def test_steps_are_shown_as_they_come(self) -> None:
        job = ObservedJob(self.server)
        job.feed_steps(3)
        view = self.open_job(job)
        view.evaluate("() => { window.sameDocument = true; }")
        job.feed_steps(8)
        view.await_true(SHOWS_STEPS, job.held().next_step)
        last = job.read()["steps"][-1]
        shown = view.evaluate(BARS)
        self.assertEqual(
            [shown[f"workload {last['index']}/{i}"] for i in range(4)],
            numbers(last["workloadNs"]),
        )
        self.assertTrue(view.evaluate("() => window.sameDocument"))
        # What it has it doesn't ask for again.
        self.assertTrue(any("from_step=" in url for url in view.requests))

    def test_withdrawn_steps_vanish(self) -> None:
        job = ObservedJob(self.server)
        job.feed_steps(6)
        view = self.open_job(job)
        self.server.stub.UpdateJob(
            api.UpdateJobRequest(name=job.name, spec=job.held().spec, from_step=2)
        )
        view.await_true(
            "() => document.querySelector('.about').innerText.includes('epoch 1')"
        )
        held = job.held()
        view.await_true(SHOWS_STEPS, held.next_step)
        epochs = {int(step["index"]): step for step in job.read()["steps"]}
        shown = view.evaluate(BARS)
        for index, step in epochs.items():
            self.assertEqual(
                [shown[f"workload {index}/{i}"] for i in range(4)],
                numbers(step["workloadNs"]),
            )

    def test_a_subscriber_that_stopped_falls_behind(self) -> None:
        job = ObservedJob(self.server)
        stopped = job.subscription(1, pause_after=2)
        with job.followers(job.subscription(0), stopped) as trainers:
            trainers.await_subscribed()
            job.feed_steps(12)
            trainers.await_steps("0", 12)
            view = self.open_job(job)
            row = view.page.locator("#subscribers tbody tr", has_text="trainer-1")

            def shows_its_lag() -> bool:
                lag = max(int(s.get("lagSteps", 0)) for s in job.read()["subscribers"])
                return lag >= 10 and f"{lag} steps" in row.inner_text()

            wait_until(shows_its_lag, "its lag is shown")
            self.assertNotEqual(row.locator(".badge").inner_text(), "up to date")
            trainers.allow(None)
            wait_until(lambda: job.held().durable_steps >= 12, "it caught up")
            view.await_true(
                """() => [...document.querySelectorAll('#subscribers tbody .badge')]
                     .every((badge) => badge.classList.contains('done'))"""
            )

    def test_a_paused_page_rests(self) -> None:
        job = ObservedJob(self.server)
        job.feed_steps(2)
        view = self.open_job(job)
        shown = job.held().next_step
        view.page.get_by_role("button", name="Pause").click()
        self.assertEqual(view.text("#status"), "Paused")
        asked = len(view.requests)
        job.feed_steps(shown + 3)
        self.assertTrue(view.evaluate(SHOWS_STEPS, shown))
        self.assertEqual(len(view.requests), asked)
        view.page.get_by_role("button", name="Resume").click()
        view.await_true(SHOWS_STEPS, job.held().next_step)

    def hide(self, view: View, hidden: bool) -> None:
        """As if another tab were looked at, or this one again."""
        view.evaluate(
            """(hidden) => {
                 Object.defineProperty(document, 'hidden',
                   { value: hidden, configurable: true });
                 document.dispatchEvent(new Event('visibilitychange'));
               }""",
            hidden,
        )

    def test_a_page_that_nobody_sees_rests(self) -> None:
        job = ObservedJob(self.server)
        job.feed_steps(2)
        view = self.open_job(job)
        shown = job.held().next_step
        self.hide(view, True)
        asked = len(view.requests)
        job.feed_steps(shown + 3)
        self.assertTrue(view.evaluate(SHOWS_STEPS, shown))
        self.assertEqual(len(view.requests), asked)
        self.hide(view, False)
        view.await_true(SHOWS_STEPS, job.held().next_step)

    def test_a_server_that_hangs_is_late(self) -> None:
        view = self.open_job(ObservedJob(self.server))
        self.server.signal(signal.SIGSTOP)
        view.await_true("() => document.querySelector('#status').innerText === 'Late'")
        self.assertIn("as of", view.text("#age"))
        self.server.signal(signal.SIGCONT)
        view.await_true("() => document.querySelector('#status').innerText === 'Live'")

    def test_a_job_that_is_deleted_is_said_to_be_gone(self) -> None:
        self.expected_complaints = ("Failed to load resource",)
        job = ObservedJob(self.server)
        job.feed_steps(2)
        view = self.open_job(job)
        self.server.stub.DeleteJob(api.DeleteJobRequest(name=job.name))
        view.page.get_by_role("heading", name="There is no such job").wait_for()
        self.assertEqual(view.text("#status"), "Not found")
        # Made again, it is there again.
        again = ObservedJob(self.server)
        again.feed_steps(1)
        view.await_true(SHOWS_STEPS, again.held().next_step)

    def refuse_jobs(self, view: View, status: int, message: str) -> None:
        """Answers the page's question for all jobs so from now on."""

        def answer(route: Route) -> None:
            route.fulfill(status=status, json={"message": message})

        view.page.route("**/api/v1/jobs?*", answer)

    def test_a_server_that_refuses_is_not_said_to_be_away(self) -> None:
        self.expected_complaints = ("Failed to load resource",)
        view = self.open()
        for status in (421, 429, 503):
            with self.subTest(status=status):
                self.refuse_jobs(view, status, f"no, for {status}")
                view.await_true(BANNER_SAYS, f"The server refuses: no, for {status}.")
                self.assertEqual(view.text("#status"), "Refused")
                self.assertTrue(view.evaluate("() => document.forms[0].hidden"))

    def test_a_server_that_is_away_is_announced_once(self) -> None:
        self.expected_complaints = ("Failed to load resource",)
        view = self.open_job(ObservedJob(self.server))
        self.server.kill()
        view.await_true(BANNER_SAYS, "The server can't be asked: no connection.")
        view.evaluate(NOTE_TEXTS, ["banner", "age"])
        view.await_true("() => window.texts.age.size > 3")
        announced = view.evaluate("() => [...window.texts.banner]")
        self.assertEqual(len(announced), 1, announced)
        self.assertIn("What you see is old.", announced[0])

    def test_a_server_that_stops_is_missed_and_found_again(self) -> None:
        self.expected_complaints = ("Failed to load resource",)
        job = ObservedJob(self.server)
        job.feed_steps(4)
        view = self.open_job(job)
        view.evaluate("() => { window.sameDocument = true; }")
        grpc, http = self.server.grpc_address, self.server.http_address
        self.server.kill()
        view.page.get_by_role("alert").wait_for()
        self.assertIn("The server can't be asked", view.text("#banner"))
        self.assertEqual(view.text("#status"), "No connection")
        self.server = self.enterContext(ServerProcess(listen=grpc, http_listen=http))
        again = ObservedJob(self.server)
        again.feed_steps(2)
        view.await_true(SHOWS_STEPS, again.held().next_step)
        view.await_true("() => document.querySelector('#banner').hidden")
        self.assertEqual(view.text("#status"), "Live")
        self.assertTrue(view.evaluate("() => window.sameDocument"))


if __name__ == "__main__":
    unittest.main()
