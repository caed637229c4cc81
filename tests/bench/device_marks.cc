#include "tests/bench/device_marks.h"

#include <atomic>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace evenpack::worker {
namespace {

constexpr std::chrono::seconds kPatience{10};

// Nanoseconds of the steady clock once `number` is there.
template <typename Atomic>
absl::StatusOr<int64_t> AwaitAtLeast(const Atomic& value, uint64_t number,
                                     absl::string_view what) {
  const auto begun = std::chrono::steady_clock::now();
  for (;;) {
    const bool is_there = value.load(std::memory_order_acquire) >= number;
    const auto now = std::chrono::steady_clock::now();
    if (is_there) return now.time_since_epoch() / std::chrono::nanoseconds(1);
    if (now - begun > kPatience) {
      return absl::DeadlineExceededError(
          absl::StrCat("marks: ", number, " are not ", what, ", but ", value.load()));
    }
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceMarks>> DeviceMarks::Create(
    CudaRank& rank, uint64_t most, std::span<const unsigned char> kernels) {
  std::unique_ptr<DeviceMarks> marks(new DeviceMarks(rank));
  const auto& context = rank.where().context;
  absl::StatusOr<std::unique_ptr<RowKernels>> loaded =
      RowKernels::Load(context, kernels);
  if (!loaded.ok()) return loaded.status();
  marks->kernels_ = *std::move(loaded);
  std::vector<Number> numbers(most);
  for (uint64_t i = 0; i < most; ++i) numbers[i].value = i + 1;
  absl::StatusOr<std::unique_ptr<DeviceMemory>> memory =
      rank.device().Allocate(most * sizeof(Number));
  if (!memory.ok()) return memory.status();
  marks->numbers_ = *std::move(memory);
  marks->most_ = most;
  absl::Status status = rank.device().CopyFromHost(
      numbers.data(), most * sizeof(Number), marks->numbers_->data());
  if (!status.ok()) return status;
  const CurrentContext current(*context);
  void* seen = nullptr;
  status = context->Check(
      context->functions().cuMemHostAlloc(&seen, sizeof(Number), cuda::kHostPortable),
      "to give memory of the host");
  if (!status.ok()) return status;
  marks->seen_ = static_cast<Number*>(seen);
  marks->seen_->value = 0;
  return marks;
}

DeviceMarks::~DeviceMarks() {
  rank_.device().Finish().IgnoreError();
  const auto& context = rank_.where().context;
  const CurrentContext current(*context);
  if (seen_ != nullptr) context->functions().cuMemFreeHost(seen_);
}

absl::Status DeviceMarks::Append() {
  const uint64_t before = appended_;
  if (before == most_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("marks: all ", most_, " are appended"));
  }
  RowCopy copy;
  copy.from = static_cast<const Number*>(numbers_->data()) + before;
  copy.from_stride = copy.to_stride = copy.row_bytes = sizeof(Number);
  copy.to = seen_;
  copy.rows = 1;
  absl::Status status = kernels_->CopyRows({&copy, 1}, rank_.where().compute);
  if (status.ok()) appended_ = before + 1;
  return status;
}

absl::Status DeviceMarks::AwaitAppended(uint64_t count) const {
  return AwaitAtLeast(appended_, count, "appended").status();
}

absl::StatusOr<int64_t> DeviceMarks::AwaitNs(uint64_t number) const {
  return AwaitAtLeast(std::atomic_ref<uint64_t>(seen_->value), number, "reached");
}

}  // namespace evenpack::worker
