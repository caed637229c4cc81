// Of what generation a device is, for which cuDNN has other kernels.
#ifndef EVENPACK_GPU_WORKER_CUDNN_DEVICE_GENERATION_H_
#define EVENPACK_GPU_WORKER_CUDNN_DEVICE_GENERATION_H_

#include <string>

namespace evenpack::worker {

inline constexpr int kHopper = 90;

// As cuDNN describes the device, in JSON: 90 for Hopper, which also is one that it says
// nothing of.
int GenerationOf(const std::string& properties);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDNN_DEVICE_GENERATION_H_
