"""The plan on the live page: of the micro-batch that is chosen, by the job as it is."""

from __future__ import annotations

import unittest

from browser import View
from child_process import wait_until
from evenpack.v1 import packing_service_pb2 as api
from live_page_case import SHOWS_PLAN, SHOWS_STEPS, LivePageCase
from observed_job import ObservedJob, observed_spec
from playwright.sync_api import Route

SAYS = "(text) => document.querySelector('#plan').innerText.includes(text)"
SHOWS_TOKENS = """([key, tokens]) => {
  const plan = document.querySelector('#plan');
  return plan.dataset.microBatch === key && plan.innerText.includes(tokens);
}"""
ANSWERS = """() => performance.getEntriesByType('resource')
  .filter(({ name }) => name.includes('from_step=')).length"""
ANY_PLAN = "**/steps/*/micro-batches/*"


class PlanCase(LivePageCase):
    def choose(self, view: View, key: str) -> None:
        bar = view.page.locator(f".bar.workload[data-key='{key}']")
        # None where the page draws its bars anew just then.
        box = wait_until(bar.bounding_box, f"the bar of {key}")
        view.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        view.await_true(
            "(key) => document.querySelector('#plan').dataset.microBatch === key", key
        )

    def tokens_of(self, job: ObservedJob, key: str) -> str:
        """What the plan says of a micro-batch, by its step and index."""
        step, micro_batch = key.split("/")
        answer = job.read(f"/steps/{step}/micro-batches/{micro_batch}")
        return f"{int(answer['microBatch']['tokens']):,} tokens"

    def slowest_of_last(self, job: ObservedJob) -> str:
        last = job.read()["steps"][-1]
        work = [int(value) for value in last["workloadNs"]]
        return f"{last['index']}/{work.index(max(work))}"

    def rewind(
        self, job: ObservedJob, *, from_step: int = 0, skipped: tuple[int, int]
    ) -> None:
        """Steps are formed anew without `skipped`, the first and how many."""
        first, documents = skipped
        skip = api.DocumentRange(
            stream="corpus", first_sequence=first, documents=documents
        )
        self.server.stub.RewindJob(
            api.RewindJobRequest(name=job.name, from_step=from_step, skip=[skip])
        )


class PlanTest(PlanCase):
    def slices_shown(self, view: View, document: int) -> dict[int, list[str]]:
        shown = view.evaluate(
            """(index) => [...document.querySelectorAll(
                 `#plan .zoom [data-document="${index}"] .band`)].map((band) =>
                   [Number(band.dataset.rank), band.dataset.slices.split(' ')])""",
            document,
        )
        return dict(shown)

    def test_a_chosen_bar_shows_the_slices_that_the_api_gives(self) -> None:
        job = ObservedJob(self.server)
        job.feed_steps(6)
        view = self.open_job(job)
        for micro_batch in (1, 3):
            step = job.held().next_step - 2
            self.choose(view, f"{step}/{micro_batch}")
            answer = job.read(f"/steps/{step}/micro-batches/{micro_batch}")
            lengths = answer["microBatch"]["documents"]["length"]
            longest = lengths.index(max(lengths))
            wanted: dict[int, list[str]] = {}
            for rank, part in enumerate(answer["ranks"]):
                wanted[rank] = [
                    f"{begin}-{end}"
                    for document, begin, end in zip(
                        part["document"], part["begin"], part["end"], strict=True
                    )
                    if document == longest
                ]
            self.assertEqual(self.slices_shown(view, longest), wanted)
            self.assertTrue(
                view.page.url.endswith(
                    f"#/jobs/run-7/steps/{step}/micro-batches/{micro_batch}"
                )
            )
            slices = [len(part["begin"]) for part in answer["ranks"]]
            shown = view.evaluate(
                """() => [...document.querySelectorAll('#plan .ranks tbody tr')]
                     .map((row) => Number(row.cells[4].textContent))"""
            )
            self.assertEqual(shown, slices)

    def test_the_keyboard_chooses_too(self) -> None:
        job = ObservedJob(self.server)
        job.feed_steps(3)
        view = self.open_job(job)
        stage = view.page.locator("#micro-batches .stage")
        stage.focus()
        stage.press("End")
        stage.press("ArrowLeft")
        step = job.held().next_step - 1
        tooltip = view.page.locator("#micro-batches .tooltip")
        self.assertIn(f"Step {step}, micro-batch 2", tooltip.inner_text())
        stage.press("Enter")
        view.await_true(
            "(key) => document.querySelector('#plan').dataset.microBatch === key",
            f"{step}/2",
        )

    def test_the_first_plan_is_of_a_step_that_is_kept(self) -> None:
        spec = observed_spec()
        spec.retention.checkpoints = 1
        job = ObservedJob(self.server, spec=spec)
        job.feed_steps(4)
        steps = job.held().next_step
        with job.followers():
            wait_until(lambda: job.held().oldest_step == steps, "all are let go")
        view = self.open_job(job)
        view.await_true(SAYS, "No step's plan is kept")
        # Bars are there to be chosen nevertheless.
        stage = view.page.locator("#micro-batches .stage")
        stage.focus()
        stage.press("End")
        stage.press("Enter")
        view.await_true(SAYS, f"of step {steps - 1} can't be shown")
        view = self.open_job(job)
        job.feed_steps(steps + 1)
        view.await_true(SHOWS_PLAN)

    def test_an_address_leads_to_a_micro_batch(self) -> None:
        job = ObservedJob(self.server)
        job.feed_steps(3)
        view = self.open("#/jobs/run-7/steps/1/micro-batches/2")
        view.await_true(SHOWS_PLAN)
        self.assertEqual(view.text("#plan-title"), "Plan of micro-batch 2 of step 1")


class AnotherHistoryTest(PlanCase):
    def test_a_choice_is_asked_for_again_after_a_rewind(self) -> None:
        job = ObservedJob(self.server)
        job.feed_steps(6)
        view = self.open_job(job)
        self.choose(view, "3/1")
        before = self.tokens_of(job, "3/1")
        view.await_true(SHOWS_TOKENS, ["3/1", before])
        self.rewind(job, skipped=(5, 50))
        now = self.tokens_of(job, "3/1")
        self.assertNotEqual(now, before)
        view.await_true(SHOWS_TOKENS, ["3/1", now])

    def test_what_nobody_chose_follows_a_rewind(self) -> None:
        job = ObservedJob(self.server)
        job.feed_steps(3)
        view = self.open_job(job)
        view.await_true(SHOWS_PLAN)
        job.feed_steps(6)
        view.await_true(SHOWS_STEPS, job.held().next_step)
        self.rewind(job, skipped=(5, 50))
        now = self.slowest_of_last(job)
        view.await_true(SHOWS_TOKENS, [now, self.tokens_of(job, now)])
        self.assertNotIn("micro-batches", view.page.url)

    def test_a_choice_that_was_withdrawn_is_shown_once_decided_again(self) -> None:
        job = ObservedJob(self.server)
        job.feed_steps(6)
        view = self.open_job(job)
        self.choose(view, "5/1")
        self.rewind(job, from_step=2, skipped=(300, 300))
        self.assertLess(job.held().next_step, 6)
        view.await_true(SAYS, "of step 5 can't be shown: the step is not decided yet")
        job.feed_steps(6)
        view.await_true(SHOWS_TOKENS, ["5/1", self.tokens_of(job, "5/1")])

    def test_a_job_made_anew_has_no_plan_of_the_one_before(self) -> None:
        self.expected_complaints = ("Failed to load resource",)
        job = ObservedJob(self.server)
        job.feed_steps(3)
        view = self.open_job(job)
        view.await_true(SHOWS_PLAN)
        self.server.stub.DeleteJob(api.DeleteJobRequest(name=job.name))
        view.page.get_by_role("heading", name="There is no such job").wait_for()
        again = ObservedJob(self.server, spec=observed_spec(micro_batches=1))
        view.await_true(SHOWS_STEPS, 0)
        self.assertIn("Choose a bar", view.text("#plan"))
        self.assertEqual(view.text("#plan-title"), "Plan of a micro-batch")
        again.feed_steps(2)
        view.await_true(SHOWS_STEPS, again.held().next_step)
        view.await_true(SHOWS_PLAN)

    def test_a_job_made_anew_unseen_has_nothing_of_the_one_before(self) -> None:
        job = ObservedJob(self.server)
        job.feed_steps(3)
        view = self.open_job(job)
        view.await_true(SHOWS_PLAN)
        view.page.get_by_role("button", name="Pause").click()
        steps = job.held().next_step
        self.server.stub.DeleteJob(api.DeleteJobRequest(name=job.name))
        again = ObservedJob(self.server, spec=observed_spec(micro_batches=4))
        again.feed_steps(steps + 2)
        view.page.get_by_role("button", name="Resume").click()
        view.await_true(SHOWS_STEPS, again.held().next_step)
        view.page.locator("#imbalance summary").click()
        view.page.locator("#imbalance details table").wait_for()
        shown = view.evaluate(
            """() => [...document.querySelectorAll('#imbalance details tbody tr')]
                 .map(({ cells: [index, mine] }) =>
                   [index.textContent, mine.textContent]).sort()"""
        )
        said = again.read()["steps"]
        self.assertEqual(
            shown, sorted([step["index"], f"{step['imbalance']:.3f}"] for step in said)
        )
        now = self.slowest_of_last(again)
        view.await_true(SHOWS_TOKENS, [now, self.tokens_of(again, now)])


class FailedPlanTest(PlanCase):
    """Of whose requests some are answered by the test."""

    def setUp(self) -> None:
        super().setUp()
        self.expected_complaints = ("Failed to load resource",)
        self.failures: list[int] = []
        self.asked = 0

    def answer(self, route: Route) -> None:
        """The next failure, while there is one."""
        self.asked += 1
        if not self.failures:
            route.continue_()
            return
        route.fulfill(status=self.failures.pop(0), json={"message": "it failed"})

    def open_failing(self, route: str, *failures: int) -> View:
        view = self.open()
        self.failures = [*failures]
        view.page.route(ANY_PLAN, self.answer)
        view.evaluate("(hash) => { location.hash = hash; }", route)
        return view

    def test_the_plan_of_an_address_is_asked_for_until_it_comes(self) -> None:
        job = ObservedJob(self.server)
        job.feed_steps(3)
        view = self.open_failing("#/jobs/run-7/steps/1/micro-batches/2", 503, 503)
        view.await_true(SHOWS_TOKENS, ["1/2", self.tokens_of(job, "1/2")])
        self.assertEqual(self.asked, 3)

    def await_answers(self, view: View) -> None:
        """Three more of the job's answers are on the page."""
        before = view.evaluate(ANSWERS)
        view.await_true(f"(before) => ({ANSWERS})() > before + 3", before)

    def test_a_plan_that_can_not_be_is_asked_for_once(self) -> None:
        job = ObservedJob(self.server)
        job.feed_steps(3)
        view = self.open_failing("#/jobs/run-7/steps/1/micro-batches/2", 429)
        view.await_true(SAYS, "step 1 can't be shown: it failed.")
        self.await_answers(view)
        self.assertEqual(self.asked, 1)

    def test_what_nobody_chose_is_chosen_anew_with_another_step(self) -> None:
        job = ObservedJob(self.server)
        job.feed_steps(3)
        view = self.open_failing("#/jobs/run-7", 429)
        view.await_true(SAYS, "can't be shown: it failed.")
        self.await_answers(view)
        self.assertEqual(self.asked, 1)
        job.feed_steps(job.held().next_step + 1)
        view.await_true(SHOWS_PLAN)


if __name__ == "__main__":
    unittest.main()
