"""Cases are decided by their seed, and come back from what is written of them."""

from __future__ import annotations

import random
import unittest

import api_methods
from call_cases import call_case
from call_error import CallError
from error_rules import complaint, reasons
from frame_cases import frame_case
from google.protobuf.message import Message
from http_cases import http_case
from message_damage import change, damaged
from tls_cases import tls_case
from wire_case import from_json, to_json

MAKERS = (call_case, frame_case, http_case, tls_case)


class WireCaseTest(unittest.TestCase):
    def test_a_seed_decides_a_case_which_is_written_whole(self) -> None:
        for make in MAKERS:
            for seed in range(300):
                case = make(random.Random(seed))
                self.assertEqual(case, make(random.Random(seed)))
                self.assertEqual(case, from_json(to_json(case)))

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
