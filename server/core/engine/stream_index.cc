#include "server/core/engine/stream_index.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace evenpack {

absl::StatusOr<uint32_t> FindStream(const JobSpec& spec, const std::string& name) {
  std::string known;
  for (size_t i = 0; i < spec.streams.size(); ++i) {
    if (spec.streams[i].name == name) return static_cast<uint32_t>(i);
    absl::StrAppend(&known, known.empty() ? "" : ", ", spec.streams[i].name);
  }
  return absl::NotFoundError(absl::StrCat(
      "stream: '", name, "' is not accepted; accepted: the job's streams, ", known));
}

}  // namespace evenpack
