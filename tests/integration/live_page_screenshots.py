"""A program: pictures of the live page for the README, of a job on a real server.

    live_page_screenshots.py FOLDER

writes live-page.png, live-page-dark.png and live-page-phone.png. The variables are
those of the tests (tests/integration/CMakeLists.txt).
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from browser import Browser, Scheme
from child_process import wait_until
from observed_job import ObservedJob
from server_process import ServerProcess

STEPS = 90
# Pixels of ground below the last element.
MARGIN = 16
# Steps that one rank is behind.
BEHIND = 7


@dataclass(frozen=True)
class Picture:
    """What is taken: the page from its top to the end of an element."""

    name: str
    width: int
    last: str
    scheme: Scheme


PICTURES = (
    Picture("live-page", 1280, "#queues", "light"),
    Picture("live-page-dark", 1280, "#queues", "dark"),
    Picture("live-page-phone", 360, "#micro-batches", "light"),
)


def telling_micro_batch(job: ObservedJob) -> tuple[int, int]:
    """Of the last steps, one whose longest document has about half of its tokens."""
    last = job.held().next_step
    best = (1.0, 0, 0)
    for step in range(last - 4, last):
        for micro_batch in range(4):
            answer = job.read(f"/steps/{step}/micro-batches/{micro_batch}")
            lengths = answer["microBatch"]["documents"]["length"]
            off = abs(max(lengths) / sum(lengths) - 0.5)
            best = min(best, (off, step, micro_batch))
    return best[1], best[2]


def take(browser: Browser, job: ObservedJob, picture: Picture, folder: Path) -> None:
    """Writes one picture."""
    step, micro_batch = telling_micro_batch(job)
    view = browser.view(
        job.server.http_address,
        f"#/jobs/{job.name}/steps/{step}/micro-batches/{micro_batch}",
        width=picture.width,
        scheme=picture.scheme,
    )
    view.await_true("() => document.querySelector('#plan[data-micro-batch]')")
    view.await_true("() => document.querySelector('#micro-batches .bar.chosen')")
    box = view.page.locator(picture.last).bounding_box()
    assert box is not None
    height = int(box["y"] + box["height"]) + MARGIN
    view.page.set_viewport_size({"width": picture.width, "height": height})
    view.page.screenshot(path=folder / f"{picture.name}.png")
    view.page.context.close()


def main() -> None:
    """Starts all, takes the pictures."""
    folder = Path(sys.argv[1])
    with ExitStack() as stack:
        server = stack.enter_context(ServerProcess())
        browser = stack.enter_context(Browser())
        job = ObservedJob(server)
        slow = job.subscription(1, pause_after=STEPS - BEHIND)
        trainers = stack.enter_context(job.followers(job.subscription(0), slow))
        trainers.await_subscribed()
        job.feed_steps(STEPS)
        trainers.await_steps("0", STEPS)
        wait_until(
            lambda: job.held().durable_steps >= STEPS - BEHIND - 1, "steps are durable"
        )
        for picture in PICTURES:
            take(browser, job, picture, folder)


if __name__ == "__main__":
    main()
