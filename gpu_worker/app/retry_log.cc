#include "gpu_worker/app/retry_log.h"

#include "absl/strings/str_cat.h"
#include "server/runtime/log.h"

namespace evenpack::worker {

client::RetryListener LogRetries(const std::string& server, const Clock& clock) {
  const auto write = [server](const client::RetryNews& news) {
    const std::string seconds =
        absl::StrCat(std::chrono::round<std::chrono::seconds>(news.failing).count());
    if (news.why.ok()) {
      Log(LogLevel::kInfo, "the packing server answers again",
          {{"server", server}, {"for", news.what}, {"after_seconds", seconds}});
      return;
    }
    Log(LogLevel::kWarning, "waits for the packing server",
        {{"server", server},
         {"for", news.what},
         {"seconds", seconds},
         {"error", std::string(news.why.message())}});
  };
  return client::Seldom(kWorkerRetryPace, write, clock);
}

}  // namespace evenpack::worker
