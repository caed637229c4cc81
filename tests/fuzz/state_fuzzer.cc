// A body that comes from anywhere is refused, or is a state that the engine goes on
// from: a restored checkpoint is what a client sent.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/core/engine/state_codec.h"
#include "tests/fuzz/fuzz_job.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/sealed_state.h"

namespace evenpack::fuzz {
namespace {

constexpr int kSteps = 6;
constexpr uint64_t kMostKept = 12;

// What the bytes hold; none where they are refused, as they must be then.
std::optional<JobState> RequireRefusedOrSame(std::string_view bytes) {
  absl::StatusOr<JobState> state = DecodeState(bytes);
  if (!state.ok()) {
    RequireRefusal(state.status(), "bytes that are no state",
                   absl::StatusCode::kDataLoss, absl::StatusCode::kFailedPrecondition);
    return std::nullopt;
  }
  const std::string own = EncodeState(*state);
  if (HeaderOf(bytes) == HeaderOf(own)) {
    Require(own == bytes, "a state that is read has its own bytes");
  } else {
    const JobState again = Required(DecodeState(own), "a state's own bytes are read");
    Require(EncodeState(again) == own, "a state of a version before has one form now");
  }
  return *std::move(state);
}

void Form(FuzzJob& job) {
  for (int i = 0; i < kSteps; ++i) {
    if (!job.Do(FormStep{}).ok()) return;
  }
}

void IngestToAll(FuzzJob& job) {
  const std::vector<StreamSpec> streams = job.state().spec.streams;
  for (size_t s = 0; s < std::min<size_t>(streams.size(), 4); ++s) {
    Ingest ingest;
    ingest.stream = streams[s].name;
    ingest.first_sequence = job.state().streams[s].next_sequence;
    const uint32_t window = std::min(job.state().spec.window, 4096U);
    ingest.lengths = {window, 1, window / 2 + 1, window / 3 + 1, 1};
    static_cast<void>(job.Do(ingest));
  }
}

void EndAll(FuzzJob& job) {
  const std::vector<StreamSpec> streams = job.state().spec.streams;
  for (size_t s = 0; s < streams.size(); ++s) {
    static_cast<void>(
        job.Do(EndOfStream{streams[s].name, job.state().streams[s].next_sequence}));
  }
}

void MarkAll(FuzzJob& job, uint64_t step) {
  const Step* kept = FindStep(job.state(), step);
  const uint64_t epoch = kept == nullptr ? 0 : kept->epoch;
  for (uint32_t rank = 0; rank < job.state().spec.data_parallel; ++rank) {
    static_cast<void>(job.Do(Acknowledge{rank, step, epoch}));
  }
}

void GoOn(const JobState& state) {
  FuzzJob job(state);
  job.RequireCheckpoints();
  Form(job);
  IngestToAll(job);
  Form(job);
  if (job.state().position.next_step > 0)
    MarkAll(job, job.state().position.next_step / 2);
  static_cast<void>(job.Do(UpdateJob{job.state().position.next_step, state.spec}));
  EndAll(job);
  Form(job);
  if (job.state().position.next_step - DurableSteps(job.state()) <= kMostKept) {
    job.RequireCheckpoints();
  }
  job.RequireStored(EncodeState(state));
}

}  // namespace
}  // namespace evenpack::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenpack;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  fuzz::RequireRefusedOrSame(input);
  for (uint32_t v = kOldestStateFormatVersion; v <= kStateFormatVersion; ++v) {
    const std::optional<JobState> state =
        fuzz::RequireRefusedOrSame(fuzz::Sealed(input, v));
    if (state.has_value() && state->created && fuzz::IsSmall(state->spec) &&
        state->position.next_step - DurableSteps(*state) <= fuzz::kMostKept) {
      fuzz::GoOn(*state);
    }
  }
  return 0;
}
