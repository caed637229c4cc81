#include "server/runtime/unique_name.h"

#include <unistd.h>

#include <array>
#include <random>

#include "absl/strings/str_cat.h"

namespace evenpack {

uint64_t DrawNumber() {
  std::random_device random;
  return uint64_t{random()} << 32U | random();
}

std::string UniqueName(absl::string_view kind) {
  std::array<char, 200> host{};
  // One that is longer is cut.
  if (gethostname(host.data(), host.size() - 1) != 0) host.back() = '\0';
  return absl::StrCat(kind, "-", host.data(), "-", getpid(), "-",
                      absl::Hex(DrawNumber(), absl::kZeroPad16));
}

}  // namespace evenpack
