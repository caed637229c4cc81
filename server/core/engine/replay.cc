#include "server/core/engine/replay.h"

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/core/engine/apply.h"
#include "server/core/engine/event_codec.h"
#include "server/core/engine/state_codec.h"

namespace evenpack {

absl::StatusOr<JobState> Replay(std::string_view snapshot, uint64_t first_record,
                                std::span<const std::string> records,
                                std::optional<uint64_t>* let_go_epoch) {
  JobState state;
  if (let_go_epoch != nullptr) let_go_epoch->reset();
  if (!snapshot.empty()) {
    absl::StatusOr<JobState> decoded = DecodeState(snapshot);
    if (!decoded.ok()) return decoded.status();
    state = *std::move(decoded);
  }
  for (size_t i = 0; i < records.size(); ++i) {
    absl::StatusOr<Event> event = DecodeEvent(records[i]);
    if (!event.ok()) {
      return absl::Status(
          event.status().code(),
          absl::StrCat("record ", first_record + i, ": ", event.status().message()));
    }
    Apply(*std::move(event), state, let_go_epoch);
  }
  return state;
}

}  // namespace evenpack
