"""The live page's modules that draw nothing, in the browser that runs them."""

from __future__ import annotations

import unittest
from typing import Any

from browser import Browser, View
from server_process import ServerProcess

# `chain` is in the digests of a job's steps, `window` in its spec.
OBSERVATION = """(indices, { next = (indices.at(-1) ?? -1) + 1, epoch = 0,
    fullSteps = 5, documents = 9, chain = 'a', window = 8 } = {}) => ({
  job: { nextStep: `${next}`, epoch: `${epoch}`, digest: `${chain}${next}`,
    spec: { window } },
  steps: indices.map((index) => ({ index: `${index}`, workloadNs: ['1'],
    previousDigest: chain ? `${chain}${index}` : undefined })),
  totals: { fullSteps: `${fullSteps}`, documents: `${documents}` },
})"""


# The page, for all tests of this file.
OPENED: View | None = None


def setUpModule() -> None:
    global OPENED
    server = unittest.enterModuleContext(ServerProcess())
    browser = unittest.enterModuleContext(Browser())
    OPENED = browser.view(server.http_address)


class ModuleTest(unittest.TestCase):
    @property
    def view(self) -> View:
        assert OPENED is not None
        return OPENED

    def call(self, module: str, expression: str, *arguments: object) -> Any:  # noqa: ANN401
        """A function of a module's exports, of each of the arguments."""
        return self.view.evaluate(
            f"""async ([path, values]) => {{
                  const exports = await import(path);
                  const call = {expression};
                  const results = [];
                  for (const value of values) results.push(await call(exports, value));
                  return results;
                }}""",
            [f"/page/{module}.js", list(arguments)],
        )

    def check(
        self, module: str, function: str, table: list[tuple[object, object]]
    ) -> None:
        found = self.call(
            module, f"(m, value) => m.{function}(value)", *(value for value, _ in table)
        )
        self.assertEqual(found, [wanted for _, wanted in table])


class FormatTest(ModuleTest):
    def test_counts_have_three_figures_and_a_unit(self) -> None:
        self.check(
            "format",
            "count",
            [
                (0, "0"),
                (999, "999"),
                (9999, "9,999"),
                (10_000, "10K"),
                (131_072, "131K"),
                (999_949, "1M"),
                (1_234_567, "1.23M"),
                (2_000_000_000, "2B"),
                (3_500_000_000_000, "3.5T"),
            ],
        )
        self.check("format", "exact", [(0, "0"), (131_072, "131,072")])

    def test_times_have_a_unit(self) -> None:
        self.check(
            "format",
            "duration",
            [
                (0, "0 ms"),
                (1, "1 ns"),
                (1500, "1.5 µs"),
                (12_345_678, "12.3 ms"),
                (999_999_999, "1 s"),
                (123_456_789_012, "123 s"),
            ],
        )
        self.check(
            "format",
            "elapsed",
            [
                (-1, "0.0 s"),
                (0.42, "0.4 s"),
                (12, "12 s"),
                (180, "3 min"),
                (7500, "2 h 5 min"),
                (270_000, "3 d 3 h"),
            ],
        )

    def test_what_was_not_measured_is_a_dash(self) -> None:
        self.check(
            "format", "imbalance", [(0, "\u2013"), (1, "1.000"), (1.5239, "1.524")]
        )
        self.check(
            "format",
            "percent",
            [(0, "0 %"), (0.0004, "< 0.1 %"), (0.004, "0.4 %"), (0.37, "37 %")],
        )


class TableTest(ModuleTest):
    def test_a_chart_of_many_bars_has_a_table_of_the_first(self) -> None:
        found = self.call(
            "chart_panel",
            """(m, count) => {
                 class Numbers extends m.ChartPanel {
                   tableColumns() { return [{ text: 'n' }]; }
                   tableRows() { return [...Array(count).keys()].map((i) => [`${i}`]); }
                 }
                 const panel = new Numbers({ id: 'numbers', title: 'Numbers' });
                 panel.details.open = true;
                 panel.fillTable();
                 return [panel.tableBox.querySelectorAll('tbody tr').length,
                   panel.tableBox.querySelector('.hint').textContent];
               }""",
            1000,
            3500,
        )
        self.assertEqual(found, [[1000, ""], [1000, "2,500 more are left out"]])


class RoutesTest(ModuleTest):
    def test_addresses_are_read_as_they_are_written(self) -> None:
        routes = [
            {},
            {"job": "run-7"},
            {"job": "a/b c", "step": 12, "microBatch": 0},
        ]
        found = self.call(
            "routes", "(m, route) => m.parseRoute(m.formatRoute(route))", *routes
        )
        self.assertEqual(found, routes)

    def test_other_addresses_show_the_jobs_or_the_job(self) -> None:
        found = self.call(
            "routes",
            "(m, hash) => Object.entries(m.parseRoute(hash))"
            ".filter(([, value]) => value !== undefined)",
            "",
            "#/nowhere",
            "#/jobs/",
            "#/jobs/%E0%A4%A",
            "#/jobs/run-7/steps/-1/micro-batches/0",
            "#/jobs/run-7/steps/1",
        )
        self.assertEqual(found, [[], [], [], [], *[[["job", "run-7"]]] * 2])


class ScaleTest(ModuleTest):
    def test_ticks_are_round_and_reach_both_ends(self) -> None:
        found = self.call("scale", "(m, to) => m.ticks(to)", 0, 1, 7, 100, 0.03)
        self.assertEqual(
            found,
            [
                [0, 1],
                [0, 0.5, 1],
                [0, 2, 4, 6, 8],
                [0, 50, 100],
                [0, 0.01, 0.02, 0.03],
            ],
        )

    def test_bars_fit_whatever_there_are(self) -> None:
        table = [
            {"steps": steps, "bars": bars, "width": width}
            for steps in (1, 2, 60, 240)
            for bars in (1, 4, 64, 500, 65_536)
            for width in (280, 640, 1180)
        ]
        found = self.call("scale", "(m, shape) => m.groupedBars(shape)", *table)
        for shape, fit in zip(table, found, strict=True):
            with self.subTest(**shape):
                drawn = -(-shape["bars"] // fit["perBar"])
                width = fit["groups"] * drawn * fit["pitch"]
                width += (fit["groups"] - 1) * fit["gap"]
                self.assertLessEqual(width, shape["width"] + 1e-6)
                self.assertGreaterEqual(fit["pitch"], 3)
                self.assertGreaterEqual(fit["groups"], 1)
                self.assertLessEqual(fit["groups"], shape["steps"])

    def test_a_shared_bar_has_the_largest_value(self) -> None:
        found = self.call(
            "scale", "(m, size) => m.largestOf([3, 1, 4, 1, 5], size)", 1, 2, 10
        )
        self.assertEqual(found, [[3, 1, 4, 1, 5], [3, 4, 5], [5]])

    def test_delays_are_named_by_their_bounds(self) -> None:
        found = self.call(
            "delay_chart",
            "(m, bounds) => m.binNames(bounds)",
            [0, 1, 2, 4, 64],
            [0.5, 2],
            [],
        )
        self.assertEqual(
            found,
            [
                ["0", "1", "2", "3\u20134", "5\u201364", "> 64"],
                ["≤ 0.5", "≤ 2", "> 2"],
                ["all"],
            ],
        )


class AnswersTest(ModuleTest):
    def test_what_json_leaves_out_is_zero(self) -> None:
        [empty] = self.call("answers", "(m, json) => m.readObservation(json, 0)", {})
        self.assertEqual(empty["job"]["nextStep"], 0)
        self.assertEqual(empty["job"]["spec"]["policy"], "balanced")
        self.assertEqual(empty["steps"], [])
        self.assertEqual(empty["totals"]["weightedImbalance"], 0)

    def test_columns_that_are_left_out_are_zeros(self) -> None:
        [step] = self.call(
            "answers",
            "(m, json) => m.readStep(json, 10000)",
            {"workloadNs": ["7", "9"], "ageSeconds": 2.5, "kind": "STEP_KIND_DRAIN"},
        )
        self.assertEqual(step["workload"], [7, 9])
        self.assertEqual(step["padding"], [0, 0])
        self.assertEqual(step["originalWorkload"], [])
        self.assertEqual(step["decidedAt"], 7500)
        self.assertEqual(step["kind"], "drain")

    def test_all_cp_ranks_are_not_rank_zero(self) -> None:
        [found] = self.call(
            "answers",
            "(m, json) => m.readObservation(json, 0).subscribers"
            ".map((each) => each.cpRank ?? 'all')",
            {"subscribers": [{"dpRank": 1}, {"cpRank": 0}]},
        )
        self.assertEqual(found, ["all", 0])

    def test_names_beyond_what_a_number_holds_stay_exact(self) -> None:
        [found] = self.call(
            "answers",
            "(m, json) => m.readMicroBatch(json).documents",
            {
                "microBatch": {
                    "documents": {"length": [5], "sequence": ["9223372036854775809"]}
                }
            },
        )
        self.assertEqual(found[0]["sequence"], "9223372036854775809")
        self.assertEqual(found[0]["documentLength"], 5)


class HistoryTest(ModuleTest):
    """`refresh` against a server that gives these answers in turn."""

    def refreshed(self, answers: str) -> Any:  # noqa: ANN401
        [found] = self.call(
            "history",
            f"""async (m) => {{
                  const answer = {OBSERVATION};
                  const answers = {answers};
                  const asked = [];
                  const history = new m.StepHistory(4);
                  while (answers.length) {{
                    await m.refresh(history, async ({{ fromStep }}) => {{
                      asked.push(fromStep ?? 'all');
                      return answers.shift();
                    }}, () => 0);
                  }}
                  return {{ asked, steps: history.steps.map(({{ index }}) => index) }};
                }}""",
            None,
        )
        return found

    def test_only_later_steps_are_asked_for(self) -> None:
        found = self.refreshed("[answer([0, 1]), answer([2]), answer([], { next: 3 })]")
        self.assertEqual(found, {"asked": ["all", 2, 3], "steps": [0, 1, 2]})

    def test_a_server_that_tells_no_digest_of_a_step_before_carries_on(self) -> None:
        found = self.refreshed("[answer([0, 1]), answer([2], { chain: '' })]")
        self.assertEqual(found, {"asked": ["all", 2], "steps": [0, 1, 2]})

    def test_the_last_steps_are_kept(self) -> None:
        found = self.refreshed("[answer([0, 1, 2]), answer([3, 4, 5])]")
        self.assertEqual(found["steps"], [2, 3, 4, 5])

    def test_all_is_asked_for_anew_where_it_does_not_carry_on(self) -> None:
        for change, then, steps in (
            ("answer([2], { epoch: 1 })", "answer([0, 1, 2], { epoch: 1 })", [0, 1, 2]),
            ("answer([], { next: 1 })", "answer([0])", [0]),
            ("answer([7, 8])", "answer([5, 6, 7, 8])", [5, 6, 7, 8]),
            ("answer([], { next: 5 })", "answer([3, 4])", [3, 4]),
            ("answer([2], { fullSteps: 4 })", "answer([2], { fullSteps: 4 })", [2]),
            ("answer([2], { documents: 8 })", "answer([2], { documents: 8 })", [2]),
            ("answer([2], { chain: 'b' })", "answer([1, 2], { chain: 'b' })", [1, 2]),
            ("answer([], { next: 2, chain: 'b' })", "answer([0], { chain: 'b' })", [0]),
            ("answer([2], { window: 9 })", "answer([2], { window: 9 })", [2]),
        ):
            with self.subTest(change=change):
                found = self.refreshed(f"[answer([0, 1]), {change}, {then}]")
                self.assertEqual(found, {"asked": ["all", 2, "all"], "steps": steps})


class PlanShapeTest(ModuleTest):
    MICRO_BATCH = """{ documents: [{ length: 6 }, { length: 2 }], ranks: [
      { rank: 0, slices: [{ document: 0, begin: 0, end: 1 },
                          { document: 0, begin: 4, end: 6 }] },
      { rank: 1, slices: [{ document: 0, begin: 1, end: 4 },
                          { document: 1, begin: 0, end: 2 }] }] }"""

    def test_slices_are_of_their_documents_in_order(self) -> None:
        [shapes] = self.call(
            "plan_shape", f"(m) => m.documentShapes({self.MICRO_BATCH})", None
        )
        self.assertEqual([shape["start"] for shape in shapes], [0, 6])
        self.assertEqual(
            [
                [(each["rank"], each["begin"], each["end"]) for each in shape["slices"]]
                for shape in shapes
            ],
            [[(0, 0, 1), (1, 1, 4), (0, 4, 6)], [(1, 0, 2)]],
        )

    def test_a_band_is_as_wide_as_its_keys(self) -> None:
        found = self.call(
            "plan_shape",
            "(m, [begin, end]) => m.bandPath(begin, end, 2, 10, 20)",
            [0, 3],
            [3, 5],
        )
        self.assertEqual(found, ["M10 20H10L16 26H10Z", "M10 26H16L20 30H10Z"])

    def test_pairs_are_those_under_the_diagonal(self) -> None:
        slices = [(0, 1), (0, 5), (2, 5), (3, 4)]
        found = self.call(
            "plan_shape",
            "(m, [begin, end]) => m.pairsOf({ begin, end })",
            *slices,
        )
        wanted = [sum(q + 1 for q in range(begin, end)) for begin, end in slices]
        self.assertEqual(found, wanted)

    def test_imbalance_of_ranks_is_most_over_mean(self) -> None:
        self.check(
            "plan_shape",
            "rankImbalance",
            [([], 0), ([0, 0], 0), ([3, 3], 1), ([4, 2, 3], 4 / 3)],
        )


class SubscriberTest(ModuleTest):
    def test_one_that_takes_nothing_stands_still(self) -> None:
        [found] = self.call(
            "subscriber_table",
            """(m) => {
                 const progress = new m.Progress();
                 const one = (receivedSteps, lagSteps) =>
                   ({ dpRank: 0, receivedSteps, lagSteps, unusedCredits: 0 });
                 const after = (each, now) => {
                   progress.note([each], now);
                   return m.conditionOf(each, progress.standing(each, now)).mark;
                 };
                 return [after(one(5, 0), 0), after(one(5, 2), 1000),
                   after(one(5, 9), 12000), after(one(6, 9), 13000),
                   after(one(15, 0), 14000)];
               }""",
            None,
        )
        self.assertEqual(found, ["done", "warning", "bad", "warning", "done"])


class PollerTest(ModuleTest):
    def test_it_asks_less_while_nobody_answers(self) -> None:
        [found] = self.call(
            "poller",
            """(m) => {
                 const poller = new m.Poller({ ask: async () => {}, interval: 1000,
                   onChange: () => {} });
                 poller.stop();
                 const pauses = [poller.pauseAfter()];
                 for (let i = 0; i < 5; i += 1) {
                   poller.note(new Error('no'));
                   pauses.push(poller.pauseAfter());
                 }
                 poller.note(undefined);
                 return [...pauses, poller.pauseAfter()];
               }""",
            None,
        )
        self.assertEqual(found, [1000, 1000, 2000, 4000, 8000, 8000, 1000])


if __name__ == "__main__":
    unittest.main()
