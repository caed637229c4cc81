#include "server/runtime/fault_point.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "server/runtime/log.h"

namespace evenpack {
namespace {

constexpr char kVariable[] = "EVENPACK_KILL_AT";

struct KillAt {
  std::string name;
  uint64_t count = 0;
};

std::optional<KillAt> ReadKillAt() {
  const char* const value = std::getenv(kVariable);
  if (value == nullptr) return std::nullopt;
  const std::string_view text = value;
  const size_t colon = text.find(':');
  KillAt kill_at{std::string(text.substr(0, colon))};
  if (colon == 0 || colon == std::string_view::npos ||
      !absl::SimpleAtoi(value + colon + 1, &kill_at.count) || kill_at.count == 0) {
    Log(LogLevel::kError, "bad variable",
        {{"name", kVariable},
         {"value", value},
         {"accepted", "NAME:COUNT with a count of 1 or more"}});
    std::abort();
  }
  return kill_at;
}

}  // namespace

void FaultPoint(std::string_view name) {
  static const std::optional<KillAt> kKillAt = ReadKillAt();
  static std::atomic<uint64_t> passed = 0;
  if (!kKillAt.has_value() || name != kKillAt->name) return;
  if (++passed == kKillAt->count) std::raise(SIGKILL);
}

}  // namespace evenpack
