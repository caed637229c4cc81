// When a device begins what a trainer submits through a sidecar's ring. Prints JSON;
// microseconds.
//   gpu_ring_bench [SUBMISSIONS]
//
// "pass": what the device takes for one, and for the mark behind it. "busy": one pass
// after another, from its submission until its kernel begins: until the host has seen
// the mark, less "pass". "idle": the same where the worker has gone to sleep before.
// "enqueued_each": of a hundred submitted at once; where that is more than "pass" the
// worker's host is what takes the time.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "tests/bench/device_ring.h"

namespace evenpack::worker {
namespace {

// A pass of some microseconds.
constexpr uint32_t kTokens = 1024;
constexpr uint64_t kAtOnce = 100;
// Of what begins only when all was given: of more, an H200's driver makes the host
// wait.
constexpr uint64_t kHeld = 8;
// As a step of 32 layers and four micro-batches has them, forward and backward.
constexpr int64_t kPassesOfStep = 256;

AttentionShape BenchShape() {
  AttentionShape shape;
  shape.type = ElementType::kBfloat16;
  shape.query_heads = 32;
  shape.kv_heads = 8;
  shape.head_size = 128;
  return shape;
}

// Sorted nanoseconds.
absl::StatusOr<std::vector<int64_t>> Passes(DeviceRing& ring, int64_t count,
                                            bool idle) {
  std::vector<int64_t> ns;
  for (int64_t i = 0; i < count; ++i) {
    if (i % kPassesOfStep == 0) {
      absl::Status status = i == 0 ? absl::OkStatus() : ring.EndStep();
      if (status.ok()) status = ring.BeginStep();
      if (!status.ok()) return status;
    }
    if (idle) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const absl::StatusOr<int64_t> taken = ring.Pass();
    if (!taken.ok()) return taken.status();
    ns.push_back(*taken);
  }
  std::sort(ns.begin(), ns.end());
  if (absl::Status status = ring.EndStep(); !status.ok()) return status;
  return ns;
}

// The median of some.
absl::StatusOr<int64_t> Each(DeviceRing& ring, bool held) {
  std::vector<int64_t> ns;
  for (int i = 0; i < 9; ++i) {
    absl::Status status = ring.BeginStep();
    if (!status.ok()) return status;
    const absl::StatusOr<int64_t> each =
        held ? ring.EachOfHeld(kHeld) : ring.EachOf(kAtOnce);
    if (!each.ok()) return each.status();
    ns.push_back(*each);
    if (status = ring.EndStep(); !status.ok()) return status;
  }
  std::sort(ns.begin(), ns.end());
  return ns[ns.size() / 2];
}

std::string Json(const std::string& name, const std::vector<int64_t>& ns,
                 int64_t pass_ns) {
  const auto micros = [&](size_t at) {
    return static_cast<double>(ns[at] - pass_ns) / 1000;
  };
  return absl::StrFormat(R"("%s": {"to_kernel_p50": %.1f, "to_kernel_p99": %.1f})",
                         name, micros(ns.size() / 2), micros(ns.size() * 99 / 100));
}

absl::Status Run(int64_t submissions) {
  const absl::StatusOr<std::unique_ptr<CudaRank>> rank = CudaRank::Open({});
  if (!rank.ok()) return rank.status();
  const auto ring = DeviceRing::Open(**rank, BenchShape(), kTokens);
  if (!ring.ok()) return ring.status();
  // Plans are built, and processors wake up.
  const auto warm = Passes(**ring, submissions / 10, /*idle=*/false);
  if (!warm.ok()) return warm.status();
  const absl::StatusOr<int64_t> pass = Each(**ring, /*held=*/true);
  if (!pass.ok()) return pass.status();
  const absl::StatusOr<int64_t> enqueued = Each(**ring, /*held=*/false);
  if (!enqueued.ok()) return enqueued.status();
  const auto busy = Passes(**ring, submissions, /*idle=*/false);
  if (!busy.ok()) return busy.status();
  const auto idle = Passes(**ring, submissions / 10, /*idle=*/true);
  if (!idle.ok()) return idle.status();
  std::printf("{\"tokens\": %u, \"pass\": %.1f, %s, %s, \"enqueued_each\": %.1f}\n",
              kTokens, static_cast<double>(*pass) / 1000,
              Json("busy", *busy, *pass).c_str(), Json("idle", *idle, *pass).c_str(),
              static_cast<double>(*enqueued) / 1000);
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  int64_t submissions = 10'000;
  if (argc > 2 || (argc == 2 && (!absl::SimpleAtoi(argv[1], &submissions) ||
                                 submissions < 100 || submissions > 50'000))) {
    std::fputs("usage: gpu_ring_bench [SUBMISSIONS, 100 to 50000]\n", stderr);
    return 2;
  }
  const absl::Status status = Run(submissions);
  if (status.ok()) return 0;
  std::fprintf(stderr, "gpu_ring_bench: %s\n", status.ToString().c_str());
  return 1;
}

}  // namespace
}  // namespace evenpack::worker

int main(int argc, char** argv) { return evenpack::worker::Main(argc, argv); }
