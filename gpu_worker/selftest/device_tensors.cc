#include "gpu_worker/selftest/device_tensors.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"

namespace evenpack::worker {

namespace {

// Behind each tensor, so that what is written beyond its end is found.
constexpr size_t kGuardBytes = 64 << 10;
constexpr char kGuard = '\x5a';

}  // namespace

std::vector<DeviceTensors::HostRows> DeviceTensors::OnHost() const {
  std::vector<HostRows> all;
  for (std::vector<char>* const of :
       {&tensors_.query, &tensors_.key, &tensors_.value, &tensors_.output_gradient,
        &tensors_.output, &tensors_.query_gradient, &tensors_.key_gradient,
        &tensors_.value_gradient}) {
    all.push_back({of->data(), of->size()});
  }
  all.push_back(
      {tensors_.log_sum_exp.data(), tensors_.log_sum_exp.size() * sizeof(float)});
  return all;
}

absl::StatusOr<std::unique_ptr<DeviceTensors>> DeviceTensors::Copy(RankTensors& tensors,
                                                                   Device& device) {
  std::unique_ptr<DeviceTensors> copy(new DeviceTensors(tensors, device));
  const std::vector<char> guard(kGuardBytes, kGuard);
  for (const HostRows& of : copy->OnHost()) {
    absl::StatusOr<std::unique_ptr<DeviceMemory>> memory =
        device.Allocate(of.bytes + kGuardBytes);
    if (!memory.ok()) return memory.status();
    copy->held_.push_back(*std::move(memory));
    absl::Status status = device.CopyFromHost(guard.data(), guard.size(),
                                              copy->Behind(copy->held_.size() - 1, of));
    if (!status.ok()) return status;
  }
  if (absl::Status status = copy->CopyAgain(); !status.ok()) return status;
  return copy;
}

absl::Status DeviceTensors::CopyAgain() {
  absl::Status status;
  const std::vector<HostRows> all = OnHost();
  for (size_t i = 0; i < all.size() && status.ok(); ++i) {
    status = device_.CopyFromHost(all[i].data, all[i].bytes, At(i));
  }
  return status;
}

absl::Status DeviceTensors::ReadBack() {
  absl::Status status;
  const std::vector<HostRows> all = OnHost();
  // The first four are what was given.
  for (size_t i = 4; i < all.size() && status.ok(); ++i) {
    status = device_.CopyToHost(At(i), all[i].bytes, all[i].data);
    if (status.ok()) status = CheckGuard(i, all[i]);
  }
  return status;
}

void* DeviceTensors::Behind(size_t i, const HostRows& of) const {
  return static_cast<char*>(At(i)) + of.bytes;
}

absl::Status DeviceTensors::CheckGuard(size_t i, const HostRows& of) {
  std::vector<char> guard(kGuardBytes);
  absl::Status status = device_.CopyToHost(Behind(i, of), guard.size(), guard.data());
  if (!status.ok()) return status;
  const auto written =
      std::ranges::find_if(guard, [](char byte) { return byte != kGuard; });
  if (written == guard.end()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("tensor ", i, " of ", of.bytes,
                                          " bytes was written at ",
                                          written - guard.begin(), " behind its end"));
}

}  // namespace evenpack::worker
