#include "gpu_worker/cudnn/device_generation.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace evenpack::worker {

int GenerationOf(const std::string& properties) {
  const size_t at = properties.find("\"deviceVer\"");
  const size_t colon = at == std::string::npos ? at : properties.find(':', at);
  if (colon == std::string::npos) return kHopper;
  const int64_t version = std::strtol(properties.c_str() + colon + 1, nullptr, 10);
  return version > 0 ? static_cast<int>(version / 10) : kHopper;
}

}  // namespace evenpack::worker
