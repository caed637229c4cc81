"""Tests of render_page.py, page_tables.py and frontier_plot.py."""

from __future__ import annotations

import unittest
import xml.etree.ElementTree as ET

from frontier_plot import Curve, draw
from page_tables import percent, reaches_target, table
from render_page import render

PAGE = "before\n<!-- table one -->\nold\n<!-- end -->\nafter\n"


class RenderTest(unittest.TestCase):
    def test_puts_the_table_between_its_lines(self) -> None:
        page = render(PAGE, {"x": 7}, {"one": lambda results: f"| {results['x']} |"})
        self.assertEqual(page, PAGE.replace("old", "| 7 |"))

    def test_comes_to_the_same_twice(self) -> None:
        tables = {"one": lambda _: "| new |"}
        once = render(PAGE, {}, tables)
        self.assertEqual(render(once, {}, tables), once)

    def test_a_table_that_nobody_makes_is_an_error(self) -> None:
        with self.assertRaises(KeyError):
            render(PAGE, {}, {})


class TablesTest(unittest.TestCase):
    def test_a_table_has_a_line_below_its_header(self) -> None:
        self.assertEqual(
            table(["a", "b"], [["1", "2"]]), "| a | b |\n| --- | --: |\n| 1 | 2 |"
        )

    def test_percent(self) -> None:
        self.assertEqual([percent(0.0042), percent(0.5)], ["0.42%", "50.0%"])

    def test_the_target_is_half_at_no_more_delay(self) -> None:
        other = {"excess": 0.2, "delay": 1.0}
        for excess, delay, reached in (
            (0.1, 1.0, True),
            (0.11, 0.5, False),
            (0.05, 1.1, False),
        ):
            run = {"excess": excess, "delay": delay}
            self.assertEqual(reaches_target(run, other, "excess"), reached)
        self.assertFalse(reaches_target(None, other, "excess"))


class PictureTest(unittest.TestCase):
    def test_is_well_formed_and_has_every_point(self) -> None:
        curves = [Curve("a < b", [(0.1, 0.05), (0.4, 0.004)]), Curve("c", [(0.3, 0.2)])]
        picture = ET.fromstring(draw("title", curves))
        circles = picture.findall("{http://www.w3.org/2000/svg}circle")
        self.assertEqual(len(circles), 3)
        # Less excess is lower, more delay further to the right.
        at = [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in circles]
        self.assertLess(at[0][0], at[1][0])
        self.assertLess(at[0][1], at[1][1])


if __name__ == "__main__":
    unittest.main()
