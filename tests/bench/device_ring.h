// A sidecar's ring to a device, both ends of it in this process: when the device begins
// what is submitted.
#ifndef EVENPACK_TESTS_BENCH_DEVICE_RING_H_
#define EVENPACK_TESTS_BENCH_DEVICE_RING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/arena/submission_reader.h"
#include "gpu_worker/arena/submission_writer.h"
#include "gpu_worker/cudnn/cuda_rank.h"
#include "gpu_worker/session/device_completions.h"
#include "gpu_worker/session/ring_executor.h"
#include "tests/bench/device_marks.h"
#include "tests/gpu_worker/rendezvous/meeting_place.h"
#include "tests/gpu_worker/rendezvous/table_member.h"

namespace evenpack::worker {

// Forward passes over one document, by a group of one rank, each with a mark behind it.
// A worker's thread executes them as a sidecar's does. Not thread-safe.
class DeviceRing {
 public:
  // Of a ring, in all.
  static constexpr uint64_t kMostPasses = 100'000;

  // The rank must outlive it. Errors of the device, the engine and a first pass.
  static absl::StatusOr<std::unique_ptr<DeviceRing>> Open(
      CudaRank& rank, const AttentionShape& shape, uint32_t tokens,
      std::span<const unsigned char> kernels = RowKernelImage());
  ~DeviceRing();
  DeviceRing(const DeviceRing&) = delete;
  DeviceRing& operator=(const DeviceRing&) = delete;

  // Passes lie between the two; both wait. Steps follow each other.
  absl::Status BeginStep();
  absl::Status EndStep();
  // Nanoseconds from a pass's submission until the device has done it, and waits for
  // nothing else.
  absl::StatusOr<int64_t> Pass();
  // Nanoseconds a pass of so many, 2 to 100, submitted at once: from the device's end
  // of the first to its end of the last.
  absl::StatusOr<int64_t> EachOf(uint64_t passes);
  // The same of a device that begins none before it was given all: nothing of the host
  // shows. 2 to 8.
  absl::StatusOr<int64_t> EachOfHeld(uint64_t passes);

 private:
  // An engine that marks each pass.
  class Marked;

  DeviceRing(CudaRank& rank, Arena arena, const Submission& pass,
             std::unique_ptr<DeviceMarks> marks, PreparedMicroBatch prepared);

  absl::StatusOr<std::optional<ExecutableStep>> NextStep();
  absl::StatusOr<uint64_t> Submit(SubmissionKind kind);
  absl::Status SubmitAndWait(SubmissionKind kind);
  absl::StatusOr<int64_t> EachOfSubmitted(uint64_t passes);
  // What keeps a pass from being done shows here.
  absl::Status TryOne();

  CudaRank& rank_;
  const Arena arena_;
  const Submission pass_;
  const std::unique_ptr<DeviceMarks> marks_;
  const PreparedMicroBatch prepared_;
  // The step that passes are of, and how many were submitted.
  uint64_t step_ = 0;
  uint64_t passes_ = 0;

  SubmissionReader reader_;
  SubmissionWriter writer_;
  GroupTable table_;
  testing::MeetingPlace place_{1};
  GroupRendezvous rendezvous_;
  const std::unique_ptr<AttentionEngine> engine_;
  GroupExecutor executor_;
  DeviceCompletions completions_;
  // Steps that the worker has taken.
  uint64_t taken_ = 0;
  RingExecutor ring_;
  std::thread thread_;  // last, since it uses the others
};

}  // namespace evenpack::worker

#endif  // EVENPACK_TESTS_BENCH_DEVICE_RING_H_
