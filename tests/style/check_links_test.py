"""Tests of check_links.py: it finds links that lead nowhere, and no others."""

from __future__ import annotations

import unittest

import check_links

PAGE = """# Limits

## Peers and `jobs`
## What a request may ask for, and what not
## Peers and jobs
```sh
# not a heading
```
## [Linked](other.md) words_too
"""


def dead(text: str) -> list[str]:
    texts = {"docs/page.md": text, "docs/limits.md": PAGE, "README.md": "# Top\n"}
    texts["docs/other.md"] = ""
    files = check_links.with_folders([*texts, "docs/adr/0001.svg"])
    return check_links.dead_links(texts, files)


class CheckLinksTest(unittest.TestCase):
    def test_headings_have_the_anchors_of_github(self) -> None:
        self.assertEqual(
            check_links.anchors_of(PAGE),
            {
                "limits",
                "peers-and-jobs",
                "peers-and-jobs-1",
                "what-a-request-may-ask-for-and-what-not",
                "linked-words_too",
            },
        )

    def test_links_that_lead_somewhere_are_accepted(self) -> None:
        for link in (
            "limits.md",
            "limits.md#peers-and-jobs",
            "../README.md#top",
            "adr/0001.svg",
            "adr/",
            "#here",
            "https://example.com/none.md#none",
            "mailto:a@example.com",
        ):
            self.assertEqual(dead(f"# Here\n\nSee [it]({link}).\n"), [], link)

    def test_a_link_to_no_heading_is_named_with_its_line(self) -> None:
        for link, there in (
            ("limits.md#quotas", "docs/limits.md"),
            ("limits.md#not-a-heading", "docs/limits.md"),
            ("#there", "docs/page.md"),
        ):
            self.assertEqual(
                dead(f"# Here\n\n[one](limits.md), [two\nwords]({link})\n"),
                [f"docs/page.md:4: {link}: no heading of {there} has that anchor"],
            )

    def test_a_link_to_no_file_is_named(self) -> None:
        for link in ("missing.md", "adr/0002.svg", "../limits.md", "missing.md#top"):
            (problem,) = dead(f"![shown]({link})\n")
            self.assertIn(f"docs/page.md:1: {link}: there is no file", problem)

    def test_code_has_no_links(self) -> None:
        self.assertEqual(dead("`a[0](missing.md)`\n~~~\n[a](missing.md)\n~~~\n"), [])


if __name__ == "__main__":
    unittest.main()
