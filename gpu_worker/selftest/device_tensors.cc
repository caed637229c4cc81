#include "gpu_worker/selftest/device_tensors.h"

#include <cstddef>
#include <utility>

namespace evenpack::worker {

absl::StatusOr<std::unique_ptr<DeviceTensors>> DeviceTensors::Copy(RankTensors& tensors,
                                                                   Device& device) {
  std::unique_ptr<DeviceTensors> copy(new DeviceTensors(tensors, device));
  absl::Status status;
  for (const std::vector<char>* of :
       {&tensors.query, &tensors.key, &tensors.value, &tensors.output_gradient,
        &tensors.output, &tensors.query_gradient, &tensors.key_gradient,
        &tensors.value_gradient}) {
    if (status.ok()) status = copy->Hold(of->data(), of->size());
  }
  if (status.ok()) {
    status = copy->Hold(tensors.log_sum_exp.data(),
                        tensors.log_sum_exp.size() * sizeof(float));
  }
  if (!status.ok()) return status;
  return copy;
}

absl::Status DeviceTensors::Hold(const void* data, size_t bytes) {
  absl::StatusOr<std::unique_ptr<DeviceMemory>> memory = device_.Allocate(bytes);
  if (!memory.ok()) return memory.status();
  held_.push_back(*std::move(memory));
  return device_.CopyFromHost(data, bytes, held_.back()->data());
}

absl::Status DeviceTensors::ReadBack() {
  absl::Status status = device_.CopyToHost(
      At(8), tensors_.log_sum_exp.size() * sizeof(float), tensors_.log_sum_exp.data());
  const std::pair<size_t, std::vector<char>*> computed[] = {
      {4, &tensors_.output},
      {5, &tensors_.query_gradient},
      {6, &tensors_.key_gradient},
      {7, &tensors_.value_gradient}};
  for (const auto& [i, to] : computed) {
    if (status.ok()) status = device_.CopyToHost(At(i), to->size(), to->data());
  }
  return status;
}

}  // namespace evenpack::worker
