#include "gpu_worker/app/serve_end.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "gpu_worker/app/end_signal.h"
#include "server/runtime/log.h"

namespace evenpack::worker {
namespace {

// Without destructors: closing sessions asks the device and NCCL, which may not answer.
[[noreturn]] void EndWithout(const absl::Status& device) {
  const std::string why(device.message());
  Log(LogLevel::kError, "device lost", {{"because", why}});
  std::fputs(absl::StrCat("evenpack-worker: ", why,
                          "; this process can't use the device any more, start it "
                          "again\n")
                 .c_str(),
             stderr);
  std::_Exit(EXIT_FAILURE);
}

}  // namespace

void AwaitEnd(const SidecarForm& form, std::chrono::milliseconds between) {
  while (!EndSignal::AwaitFor(between)) {
    if (const absl::Status device = form.Check(); !device.ok()) EndWithout(device);
  }
  Log(LogLevel::kInfo, "ending");
}

}  // namespace evenpack::worker
