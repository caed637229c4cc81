#include "tests/bench/device_ring.h"

#include <chrono>
#include <utility>
#include <vector>

#include "gpu_worker/arena/arena_allocator.h"
#include "gpu_worker/device_arena/device_arena.h"
#include "gpu_worker/executor/pass_memory.h"
#include "gpu_worker/selftest/made_micro_batch.h"
#include "tests/gpu_worker/cuda/stream_gate.h"

namespace evenpack::worker {
namespace {

// What the ring's executor is told of memory; that of a rank without peers needs none.
constexpr uint64_t kScratchBytes = uint64_t{1} << 30;

int64_t NowNs() {
  return std::chrono::steady_clock::now().time_since_epoch() /
         std::chrono::nanoseconds(1);
}

// Forward tensors, one behind the other.
absl::StatusOr<Submission> Placed(const PreparedMicroBatch& prepared,
                                  ArenaAllocator& allocator) {
  const AttentionShape& shape = prepared.shape;
  const uint64_t query = prepared.held_rows * shape.query_row() * BytesOf(shape.type);
  const uint64_t key = prepared.held_rows * shape.kv_row() * BytesOf(shape.type);
  const uint64_t log_sum_exp = prepared.held_rows * shape.query_heads * sizeof(float);
  Submission submission;
  submission.rows = prepared.held_rows;
  const uint64_t bytes[kForwardTensors] = {query, key, key, query, log_sum_exp};
  for (uint32_t tensor = 0; tensor < kForwardTensors; ++tensor) {
    const absl::StatusOr<uint64_t> offset = allocator.Allocate(bytes[tensor]);
    if (!offset.ok()) return offset.status();
    submission.tensors[tensor] = *offset;
  }
  return submission;
}

}  // namespace

class DeviceRing::Marked final : public AttentionEngine {
 public:
  Marked(AttentionEngine& engine, DeviceMarks& marks)
      : engine_(engine), marks_(marks) {}

  absl::Status CheckShape(const AttentionShape& shape) const override {
    return engine_.CheckShape(shape);
  }
  KeyPlacement key_placement() const override { return engine_.key_placement(); }
  bool leaves_key_gradients() const override { return engine_.leaves_key_gradients(); }
  absl::Status Forward(const AttentionCall& call,
                       const ForwardResult& result) override {
    if (absl::Status status = engine_.Forward(call, result); !status.ok()) {
      return status;
    }
    return marks_.Append();
  }
  absl::Status Backward(const AttentionCall& call, const BackwardInput& input,
                        const BackwardResult& result) override {
    return engine_.Backward(call, input, result);
  }

 private:
  AttentionEngine& engine_;
  DeviceMarks& marks_;
};

absl::StatusOr<std::unique_ptr<DeviceRing>> DeviceRing::Open(
    CudaRank& rank, const AttentionShape& shape, uint32_t tokens,
    std::span<const unsigned char> kernels) {
  if (absl::Status status = rank.engine().CheckShape(shape); !status.ok()) {
    return status;
  }
  PreparedMicroBatch prepared = PrepareMicroBatch(
      Planned(Sharding::kContiguous, {tokens}, 1), 0, shape, KeyPlacement::kTogether);
  const uint64_t bytes = TensorMemoryOf(shape, prepared.held_rows).forward;
  absl::StatusOr<Arena> arena =
      CreateDeviceArena(rank.where().context, bytes, kMaxArenaBytes);
  if (!arena.ok()) return arena.status();
  const std::vector<char> zeros(arena->data_bytes());
  absl::Status status =
      rank.device().CopyFromHost(zeros.data(), zeros.size(), arena->data());
  if (!status.ok()) return status;
  ArenaAllocator allocator(arena->data_bytes());
  absl::StatusOr<Submission> pass = Placed(prepared, allocator);
  if (!pass.ok()) return pass.status();
  absl::StatusOr<std::unique_ptr<DeviceMarks>> marks =
      DeviceMarks::Create(rank, kMostPasses, kernels);
  if (!marks.ok()) return marks.status();
  std::unique_ptr<DeviceRing> ring(new DeviceRing(
      rank, *std::move(arena), *pass, *std::move(marks), std::move(prepared)));
  if (status = ring->TryOne(); !status.ok()) return status;
  return ring;
}

DeviceRing::DeviceRing(CudaRank& rank, Arena arena, const Submission& pass,
                       std::unique_ptr<DeviceMarks> marks, PreparedMicroBatch prepared)
    : rank_(rank),
      arena_(std::move(arena)),
      pass_(pass),
      marks_(std::move(marks)),
      prepared_(std::move(prepared)),
      reader_(arena_),
      writer_(arena_, [] { return false; }),
      rendezvous_(
          std::make_unique<testing::TableMember>(table_, GroupSeat{0, 1, 0, "bench"}),
          [this] { return absl::StatusOr<std::unique_ptr<Endpoint>>(place_.Open(0)); }),
      engine_(std::make_unique<Marked>(rank.engine(), *marks_)),
      executor_(rendezvous_, *engine_, {.device = &rank.device()}),
      completions_(reader_, rank.where().context, rank.where().compute),
      ring_(arena_, reader_, completions_, executor_, [this] { return NextStep(); },
            {{.device = &rank.device()}, kScratchBytes}),
      thread_([this] { ring_.Run().IgnoreError(); }) {}

DeviceRing::~DeviceRing() {
  reader_.Cancel();
  rendezvous_.Cancel();
  thread_.join();
}

absl::StatusOr<std::optional<ExecutableStep>> DeviceRing::NextStep() {
  ExecutableStep step;
  step.step = taken_++;
  step.micro_batches = {prepared_};
  return std::optional<ExecutableStep>(std::move(step));
}

absl::StatusOr<uint64_t> DeviceRing::Submit(SubmissionKind kind) {
  Submission submission = pass_;
  submission.kind = kind;
  submission.step = step_;
  return writer_.Submit(submission);
}

absl::Status DeviceRing::SubmitAndWait(SubmissionKind kind) {
  const absl::StatusOr<uint64_t> number = Submit(kind);
  return number.ok() ? writer_.Wait(*number) : number.status();
}

absl::Status DeviceRing::TryOne() {
  absl::Status status = BeginStep();
  if (status.ok()) status = SubmitAndWait(SubmissionKind::kForward);
  ++passes_;
  return status.ok() ? EndStep() : status;
}

absl::Status DeviceRing::BeginStep() {
  return SubmitAndWait(SubmissionKind::kBeginStep);
}

absl::Status DeviceRing::EndStep() {
  absl::Status status = SubmitAndWait(SubmissionKind::kEndStep);
  if (status.ok()) ++step_;
  return status;
}

absl::StatusOr<int64_t> DeviceRing::Pass() {
  const int64_t begun = NowNs();
  absl::Status status = Submit(SubmissionKind::kForward).status();
  if (!status.ok()) return status;
  const absl::StatusOr<int64_t> done = marks_->AwaitNs(++passes_);
  if (!done.ok()) return done.status();
  return *done - begun;
}

absl::StatusOr<int64_t> DeviceRing::EachOf(uint64_t passes) {
  for (uint64_t i = 0; i < passes; ++i) {
    absl::Status status = Submit(SubmissionKind::kForward).status();
    if (!status.ok()) return status;
  }
  return EachOfSubmitted(passes);
}

absl::StatusOr<int64_t> DeviceRing::EachOfHeld(uint64_t passes) {
  testing::StreamGate gate;
  gate.Close(*rank_.where().context, rank_.where().compute);
  absl::Status status;
  for (uint64_t i = 0; i < passes && status.ok(); ++i) {
    status = Submit(SubmissionKind::kForward).status();
  }
  if (status.ok()) status = marks_->AwaitAppended(passes_ + passes);
  gate.Open();
  if (!status.ok()) {
    // The stream looks at the gate.
    rank_.device().Finish().IgnoreError();
    return status;
  }
  return EachOfSubmitted(passes);
}

absl::StatusOr<int64_t> DeviceRing::EachOfSubmitted(uint64_t passes) {
  const absl::StatusOr<int64_t> first = marks_->AwaitNs(passes_ + 1);
  if (!first.ok()) return first.status();
  passes_ += passes;
  const absl::StatusOr<int64_t> last = marks_->AwaitNs(passes_);
  if (!last.ok()) return last.status();
  return (*last - *first) / static_cast<int64_t>(passes - 1);
}

}  // namespace evenpack::worker
