#include "server/access/job_glob.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"

namespace evenpack {
namespace {

constexpr size_t kMaxGlobBytes = 128;

bool IsOfGlob(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
         std::string_view("._-*?").find(c) != std::string_view::npos;
}

}  // namespace

bool IsJobGlob(std::string_view text) {
  return !text.empty() && text.size() <= kMaxGlobBytes &&
         std::all_of(text.begin(), text.end(), IsOfGlob);
}

// Each '*' takes as little as it can; where what follows fails, the last one takes one
// more. An earlier one need not: the last can take whatever it would.
bool MatchesGlob(std::string_view glob, std::string_view name) {
  size_t at = 0;
  size_t star = std::string_view::npos;
  size_t after_star = 0;
  for (size_t i = 0; i < name.size();) {
    if (at < glob.size() && glob[at] == '*') {
      star = at++;
      after_star = i;
    } else if (at < glob.size() && (glob[at] == '?' || glob[at] == name[i])) {
      ++at;
      ++i;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      i = ++after_star;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', at) == std::string_view::npos;
}

}  // namespace evenpack
