"""Cases are decided by their seed, and come back from what is written of them."""

from __future__ import annotations

import random
import unittest

import api_methods
import http2_frames as h2
from call_cases import call_case
from call_error import CallError
from error_rules import complaint, reasons
from frame_cases import frame_case
from google.protobuf.message import Message
from http_cases import http_case
from message_damage import change, damaged
from tls_cases import tls_case
from wire_case import Bytes, from_json, to_json

MAKERS = (call_case, frame_case, http_case, tls_case)


class WireCaseTest(unittest.TestCase):
    def test_a_seed_decides_a_case_which_is_written_whole(self) -> None:
        for make in MAKERS:
            for seed in range(300):
                case = make(random.Random(seed))
                self.assertEqual(case, make(random.Random(seed)))
                self.assertEqual(case, from_json(to_json(case)))

    def test_a_frame_that_announces_more_than_comes_swallows_what_follows(self) -> None:
        opened = h2.opening()
        for raw, alone in (
            (b"", True),
            (h2.data(1, bytes(40_000)), True),
            (h2.data(1, b"x")[:-1], False),
            (h2.frame(h2.HEADERS, 0, 1)[:8], False),
            ((1 << 23).to_bytes(3, "big") + bytes(6), False),
        ):
            self.assertEqual(h2.ends_with_a_frame(opened + raw), alone, raw[:9])

    def test_every_marker_is_a_frame_of_its_own(self) -> None:
        swallowed, asked = 0, 0
        for seed in range(5000):
            action = frame_case(random.Random(seed)).action
            assert isinstance(action, Bytes)
            sent = b"".join(action.pieces)
            if sent.startswith(h2.PREFACE) and not h2.ends_with_a_frame(sent):
                swallowed += 1
                self.assertNotEqual(action.then, "answer", seed)
            asked += action.then == "answer"
        self.assertGreater(swallowed, 10)
        self.assertGreater(asked, 1000)

    def test_every_method_is_called_with_messages_of_its_own(self) -> None:
        methods = api_methods.methods()
        self.assertGreater(len(methods), 20)
        for method in methods:
            filled = 0
            for seed in range(100):
                for message in api_methods.requests(method, random.Random(seed)):
                    self.assertIsInstance(message, Message)
                    self.assertIsInstance(message, method.request)
                    filled += message.ByteSize() > 0
            self.assertGreater(filled, 10, method.path)

    def test_damage_changes_messages(self) -> None:
        for method in api_methods.methods():
            changed = 0
            for seed in range(50):
                rng = random.Random(seed)
                for message in api_methods.requests(method, rng):
                    before = message.SerializeToString()
                    change(message, rng)
                    changed += message.SerializeToString() != before
                    self.assertIsInstance(damaged(before, rng), bytes)
            self.assertGreater(changed, 5, method.path)

    def test_errors_are_held_to_the_page_of_the_api(self) -> None:
        def error(code: str, **rest: object) -> CallError:
            return CallError(code, "name: wrong", **rest)  # type: ignore[arg-type]

        ours = {"domain": "evenpack"}
        self.assertIn("JOB_NOT_FOUND", reasons())
        good = [
            error("NOT_FOUND", reason="JOB_NOT_FOUND", **ours),
            error("OUT_OF_RANGE", reason="OUT_OF_RANGE", **ours),
            error("UNIMPLEMENTED"),
        ]
        bad = [
            error("INTERNAL"),
            error("UNKNOWN"),
            error("INTERNAL", reason="INTERNAL", **ours),
            error("NOT_FOUND", reason="NOT_FOUND", **ours),
            error("ABORTED", reason="JOB_NOT_FOUND", **ours),
            error("NOT_FOUND", reason="JOB_NOT_FOUND"),
            error("INVALID_ARGUMENT", reason="INVALID_ARGUMENT", **ours),
            error("UNAVAILABLE", reason="DRAINING", **ours),
            CallError("UNIMPLEMENTED", "std::bad_alloc"),
        ]
        for each in good:
            self.assertIsNone(complaint(each), each)
        for each in bad:
            self.assertIsNotNone(complaint(each), each)
        self.assertIsNone(complaint(error("UNKNOWN"), ("UNKNOWN",)))


if __name__ == "__main__":
    unittest.main()
