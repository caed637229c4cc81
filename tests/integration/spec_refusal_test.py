"""Specs that CreateJob refuses: every rule by field, value and accepted range."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from functools import partial

import job_specs
from evenpack.v1 import cost_pb2, job_pb2
from evenpack.v1 import packing_service_pb2 as api
from refusals import Refusal, RefusalTest, out_of_field
from server_process import ServerProcess

Change = Callable[[job_pb2.JobSpec], object]
MOST = 2**32 - 1
NAMES = "1 to 128 characters of a-z, A-Z, 0-9, '.', '_' and '-'"


def spec_field(path: str, value: object, accepted: str) -> Refusal:
    """A field of the spec that is refused."""
    return out_of_field(f"spec.{path}", value, accepted)


def set_shape(spec: job_pb2.JobSpec, field: str, value: int) -> None:
    """A model by its figures, one of which is wrong."""
    shape = spec.cost.analytic.model.shape
    shape.MergeFrom(
        cost_pb2.ModelShape(
            layers=2,
            hidden=64,
            query_heads=4,
            kv_heads=4,
            head_size=16,
            ffn_size=64,
            vocabulary=100,
        )
    )
    setattr(shape, field, value)
    spec.cost.analytic.hardware.name = "H100"


def set_figure(spec: job_pb2.JobSpec, field: str, value: float) -> None:
    """Hardware by its figures, one of which is wrong."""
    spec.cost.analytic.model.name = "7B"
    figures = spec.cost.analytic.hardware.figures
    figures.peak_flops = 1e15
    figures.linear_fraction = figures.attention_fraction = 0.5
    figures.multiprocessors = 100
    setattr(figures, field, value)


def set_table(
    spec: job_pb2.JobSpec, tokens: list[int], attention: list[int], linear: list[int]
) -> None:
    """A cost table."""
    spec.cost.table.SetInParent()
    spec.cost.table.tokens.extend(tokens)
    spec.cost.table.attention_ns.extend(attention)
    spec.cost.table.linear_ns.extend(linear)


def set_latency(
    spec: job_pb2.JobSpec, q_lens: list[int], slice_ns: list[int], launch: int = 0
) -> None:
    """A profiled cost by a table of kernel latencies."""
    spec.cost.profiled.linear.model.name = "7B"
    spec.cost.profiled.linear.hardware.name = "H100"
    latency = spec.cost.kernel_latency
    latency.q_lens.extend(q_lens)
    latency.kv_lens.extend([128, 256])
    latency.slice_ns.extend(slice_ns)
    latency.launch_ns = launch


def set_greedy(spec: job_pb2.JobSpec, window_batches: int, max_delay: int) -> None:
    """The policy fixed_greedy with a bound."""
    spec.policy.fixed_greedy.window_batches = window_batches
    spec.max_delay = max_delay


STREAM_CASES: list[tuple[Change, Refusal]] = [
    (lambda s: s.ClearField("streams"), spec_field("streams", 0, "1 to 1024")),
    (
        lambda s: s.streams.extend([job_pb2.Stream(name=f"{i}") for i in range(1023)]),
        spec_field("streams", 1025, "1 to 1024"),
    ),
    (
        lambda s: s.streams.add(name="web"),
        spec_field("streams[2].name", "'web'", "a name that no other stream"),
    ),
    (
        lambda s: s.streams.add(name=""),
        spec_field("streams[2].name", "''", "1 to 256 bytes"),
    ),
    (
        lambda s: s.streams.add(name="a" * 257),
        spec_field("streams[2].name", f"'{'a' * 257}'", "1 to 256 bytes"),
    ),
    (
        lambda s: s.streams.add(name="new", weight=1_000_001),
        spec_field("streams[2].weight", 1000001, "1 to 1000000"),
    ),
    (
        lambda s: s.MergeFrom(job_pb2.JobSpec(merge=9)),  # type: ignore[arg-type]
        spec_field("merge", 9, "evenpack.v1.MergeMode"),
    ),
]

SHAPE_CASES: list[tuple[Change, Refusal]] = [
    *(
        (
            lambda s, name=name: setattr(s.parallelism, name, MOST),
            spec_field(f"parallelism.{name}", MOST, f"1 to {most}"),
        )
        for name, most in (
            ("context", 1024),
            ("tensor", 1024),
            ("pipeline", 1024),
            ("virtual_pipeline_group", 65536),
            ("expert", 65536),
        )
    ),
    (
        lambda s: setattr(s.parallelism, "data", 65536),
        spec_field(
            "parallelism.micro_batches_per_rank", 2, "at most 1, with data 65536"
        ),
    ),
    (
        lambda s: setattr(s.parallelism, "data", 65537),
        spec_field("parallelism.data", 65537, "1 to 65536"),
    ),
    (
        lambda s: setattr(s.parallelism, "virtual_pipeline_group", 3),
        spec_field("parallelism.virtual_pipeline_group", 3, "a divisor of 2"),
    ),
    (lambda s: s.ClearField("window"), spec_field("window", 0, "1 to 2147483647")),
    (
        lambda s: setattr(s, "window", MOST),
        spec_field("window", MOST, "1 to 2147483647"),
    ),
    (
        lambda s: setattr(s, "max_length", 4095),
        spec_field("max_length", 4095, "4096 to 2147483647"),
    ),
]

POLICY_CASES: list[tuple[Change, Refusal]] = [
    (
        lambda s: s.policy.wlb.queue_thresholds.append(2048),
        spec_field("policy.wlb.queue_thresholds[2]", 2048, "at least 2049"),
    ),
    (
        lambda s: set_greedy(s, 1025, 2000),
        spec_field("policy.fixed_greedy.window_batches", 1025, "1 to 1024"),
    ),
    (lambda s: set_greedy(s, 4, 2), spec_field("max_delay", 2, "at least 3")),
    (
        lambda s: setattr(s, "backlog_limit", -0.5),
        spec_field("backlog_limit", -0.5, "0 to 1000000"),
    ),
    (
        lambda s: setattr(s, "backlog_limit", float("nan")),
        spec_field("backlog_limit", "nan", "0 to 1000000"),
    ),
    (
        lambda s: setattr(s.retention, "checkpoints", 1001),
        spec_field("retention.checkpoints", 1001, "1 to 1000"),
    ),
    (
        lambda s: setattr(s.retention, "max_steps_ahead", 2**32 + 1),
        spec_field("retention.max_steps_ahead", 2**32 + 1, "1 to 4294967296"),
    ),
    (
        lambda s: setattr(s.buffer_limits, "max_tokens", 16383),
        spec_field("buffer_limits.max_tokens", 16383, "at least 16384"),
    ),
    (
        lambda s: setattr(s.buffer_limits, "max_documents", 16383),
        spec_field("buffer_limits.max_documents", 16383, "at least 16384"),
    ),
    (
        lambda s: setattr(s.buffer_limits, "max_bytes", 2**20 - 1),
        spec_field("buffer_limits.max_bytes", 2**20 - 1, "at least 1048576"),
    ),
    (
        lambda s: setattr(s, "payload_mode", 7),
        spec_field("payload_mode", 7, "PAYLOAD_MODE_BY_REFERENCE"),
    ),
]

LAYOUT_CASES: list[tuple[Change, Refusal]] = [
    (
        lambda s: setattr(s, "sharding", 77),
        spec_field("sharding", 77, "evenpack.v1.Sharding"),
    ),
    (
        lambda s: setattr(s, "sharding", job_pb2.SHARDING_CONTIGUOUS),
        spec_field("sharding", "contiguous", "hybrid for the layout native"),
    ),
    (
        lambda s: setattr(s.consumer_layout, "layout", 77),
        spec_field("consumer_layout.layout", 77, "evenpack.v1.Layout"),
    ),
    (
        lambda s: setattr(s.consumer_layout, "layout", job_pb2.LAYOUT_HF_FLAT),
        spec_field("parallelism.context", 2, "1 for the layout hf_flat"),
    ),
    (
        lambda s: s.consumer_layout.shape_ladder.extend([5, 4]),
        spec_field("consumer_layout.shape_ladder[1]", 4, "above 5"),
    ),
    (
        lambda s: s.consumer_layout.MergeFrom(
            job_pb2.ConsumerLayout(shape_ladder=[4096, 6144], pad_tokens_to=8)
        ),
        spec_field("consumer_layout.pad_tokens_to", 8, "0 with a shape_ladder"),
    ),
]

COST_CASES: list[tuple[Change, Refusal]] = [
    (
        lambda s: setattr(s.cost.quadratic, "ns_per_token", 2**64 - 1),
        spec_field("max_length", 6144, "within 2^62 ns at this cost"),
    ),
    (
        lambda s: setattr(s.cost.analytic.model, "name", "8B"),
        spec_field("cost.analytic.model.name", "8B", "550M, 7B, 30B, 70B, 405B"),
    ),
    (
        lambda s: s.cost.analytic.MergeFrom(
            cost_pb2.AnalyticCost(
                model=cost_pb2.Model(name="7B"), hardware=cost_pb2.Hardware(name="A1")
            )
        ),
        spec_field("cost.analytic.hardware.name", "A1", "H100, H200"),
    ),
    (
        lambda s: set_shape(s, "layers", 10001),
        spec_field("cost.analytic.model.shape.layers", 10001, "1 to 10000"),
    ),
    (
        lambda s: set_shape(s, "kv_heads", 3),
        spec_field("cost.analytic.model.shape.query_heads", 4, "a multiple of"),
    ),
    (
        lambda s: set_figure(s, "peak_flops", float("nan")),
        spec_field("cost.analytic.hardware.figures.peak_flops", "nan", "1e9 to 1e18"),
    ),
    (
        lambda s: set_figure(s, "linear_fraction", 1.5),
        spec_field("cost.analytic.hardware.figures.linear_fraction", 1.5, "at most 1"),
    ),
    (
        lambda s: set_table(s, [], [], []),
        spec_field("cost.table.tokens", "no value", "at least one"),
    ),
    (
        lambda s: set_table(s, [5, 5], [1, 2], [1, 2]),
        spec_field("cost.table.tokens[1]", 5, "more than 5"),
    ),
    (
        lambda s: set_table(s, [5, 6], [1], [1, 2]),
        spec_field("cost.table.attention_ns", "1 values", "2, as many as tokens"),
    ),
    (
        lambda s: set_table(s, [5, 6], [1, 2], [2, 1]),
        spec_field("cost.table.linear_ns[1]", 1, "at least 2"),
    ),
    (
        lambda s: set_latency(s, [100, 256], [1, 2, 3, 4]),
        spec_field("cost.kernel_latency.q_lens[0]", 100, "a multiple of 128"),
    ),
    (
        lambda s: set_latency(s, [128, 256], [1, 2, 3]),
        spec_field("cost.kernel_latency.slice_ns", "3 values", "4 values"),
    ),
    (
        lambda s: set_latency(s, [128, 256], [1, 2, 3, 4], -4),
        spec_field("cost.kernel_latency.launch_ns", -4, "0 to 1000000000"),
    ),
]

NAME_CASES = ["", "-a", "a/b", "a" * 129, "ä"]


class SpecRefusalTest(RefusalTest):
    server: ServerProcess

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = cls.enterClassContext(ServerProcess())

    def test_each_rule_of_a_spec(self) -> None:
        for change, expected in [
            *STREAM_CASES,
            *SHAPE_CASES,
            *POLICY_CASES,
            *LAYOUT_CASES,
            *COST_CASES,
        ]:
            spec = job_specs.small_spec()
            change(spec)
            request = api.CreateJobRequest(name="job", spec=spec)
            with self.subTest(expected.says[0]):
                error = self.refused(partial(self.server.stub.CreateJob, request))
                self.check(error, expected, type(request))

    def test_names(self) -> None:
        for name in NAME_CASES:
            spec = job_specs.small_spec()
            request = api.CreateJobRequest(name=name, spec=spec)
            with self.subTest(name):
                error = self.refused(partial(self.server.stub.CreateJob, request))
                expected = out_of_field("name", f"'{name[:128]}'", NAMES)
                self.check(error, expected, type(request))

    def test_an_update_is_held_to_the_same_rules(self) -> None:
        name = "held-to-rules"
        self.server.stub.CreateJob(
            api.CreateJobRequest(name=name, spec=job_specs.small_spec())
        )
        for change, expected in (POLICY_CASES[0], LAYOUT_CASES[0], COST_CASES[1]):
            spec = job_specs.small_spec()
            change(spec)
            request = api.UpdateJobRequest(name=name, spec=spec)
            with self.subTest(expected.says[0]):
                error = self.refused(partial(self.server.stub.UpdateJob, request))
                self.check(error, expected, type(request))

    def test_no_refused_job_is_left_behind(self) -> None:
        spec = job_specs.small_spec()
        spec.max_length = 1
        request = api.CreateJobRequest(name="refused", spec=spec)
        self.refused(partial(self.server.stub.CreateJob, request))
        request.spec.max_length = 0
        self.assertEqual(self.server.stub.CreateJob(request).job.name, "refused")


if __name__ == "__main__":
    unittest.main()
