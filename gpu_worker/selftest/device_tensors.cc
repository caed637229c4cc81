#include "gpu_worker/selftest/device_tensors.h"

#include <cstddef>
#include <utility>

namespace evenpack::worker {

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
  for (const HostRows& of : copy->OnHost()) {
    absl::StatusOr<std::unique_ptr<DeviceMemory>> memory = device.Allocate(of.bytes);
    if (!memory.ok()) return memory.status();
    copy->held_.push_back(*std::move(memory));
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
  }
  return status;
}

}  // namespace evenpack::worker
