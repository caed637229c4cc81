// What a submission through an arena's ring costs, between two processes: from the
// trainer's write to the worker's start, and until the trainer knows that it is done.
// Prints JSON; microseconds.
//   ring_bench [SUBMISSIONS]
//
// "busy": one after another, so that both sides look when the number changes. "idle":
// both have gone to sleep before each. "enqueued": a ring full at a time, waited for
// once.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "gpu_worker/arena/arena.h"
#include "gpu_worker/arena/submission_reader.h"
#include "gpu_worker/arena/submission_writer.h"

namespace evenpack::worker {
namespace {

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Latencies {
  std::vector<int64_t> to_start;
  std::vector<int64_t> to_done;
};

double Micros(std::vector<int64_t>& ns, double share) {
  std::sort(ns.begin(), ns.end());
  const auto at = static_cast<size_t>(share * static_cast<double>(ns.size() - 1));
  return static_cast<double>(ns[at]) / 1000;
}

std::string Json(const std::string& name, Latencies& latencies) {
  return absl::StrFormat(
      R"("%s": {"to_start_p50": %.1f, "to_start_p99": %.1f, "to_done_p50": %.1f, )"
      R"("to_done_p99": %.1f})",
      name, Micros(latencies.to_start, 0.5), Micros(latencies.to_start, 0.99),
      Micros(latencies.to_done, 0.5), Micros(latencies.to_done, 0.99));
}

// The worker's process: does nothing with each.
[[noreturn]] void Echo(const Arena& arena) {
  SubmissionReader reader(arena);
  while (reader.Next().ok()) reader.Complete(absl::OkStatus());
  _exit(0);
}

Latencies OneByOne(SubmissionWriter& writer, int64_t submissions, bool idle) {
  Latencies latencies;
  for (int64_t i = 0; i < submissions; ++i) {
    if (idle) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const int64_t before = NowNs();
    const uint64_t number = *writer.Submit({});
    if (!writer.Wait(number).ok()) break;
    latencies.to_done.push_back(NowNs() - before);
    latencies.to_start.push_back(writer.TimesNs(number).first - before);
  }
  return latencies;
}

double EnqueuedMicros(SubmissionWriter& writer, int64_t submissions) {
  const int64_t before = NowNs();
  for (int64_t i = 0; i < submissions; ++i) *writer.Submit({});
  if (!writer.Wait(writer.submitted()).ok()) return 0;
  return static_cast<double>(NowNs() - before) / 1000 /
         static_cast<double>(submissions);
}

int Run(int64_t submissions) {
  const absl::StatusOr<Arena> arena = Arena::Create(4096);
  if (!arena.ok()) return 1;
  const pid_t worker = fork();
  if (worker == 0) Echo(*arena);
  SubmissionWriter writer(*arena, [] { return false; });
  OneByOne(writer, submissions / 10, false);
  Latencies busy = OneByOne(writer, submissions, false);
  Latencies idle = OneByOne(writer, submissions / 20, true);
  const double enqueued = EnqueuedMicros(writer, submissions);
  kill(worker, SIGKILL);
  waitpid(worker, nullptr, 0);
  std::printf("{%s, %s, \"enqueued_each\": %.2f}\n", Json("busy", busy).c_str(),
              Json("idle", idle).c_str(), enqueued);
  return 0;
}

}  // namespace
}  // namespace evenpack::worker

int main(int argc, char** argv) {
  int64_t submissions = 100'000;
  if (argc > 2 ||
      (argc == 2 && (!absl::SimpleAtoi(argv[1], &submissions) || submissions < 100))) {
    std::fputs("usage: ring_bench [SUBMISSIONS, at least 100]\n", stderr);
    return 2;
  }
  return evenpack::worker::Run(submissions);
}
