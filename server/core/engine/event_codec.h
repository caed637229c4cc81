// Events as bytes: what a journal holds. docs/formats.md gives the layout.
#ifndef EVENPACK_SERVER_CORE_ENGINE_EVENT_CODEC_H_
#define EVENPACK_SERVER_CORE_ENGINE_EVENT_CODEC_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/core/engine/event.h"

namespace evenpack {

// Rises with every change of the layout.
inline constexpr uint32_t kEventFormatVersion = 6;
// That is read too: a journal outlives the server that wrote it.
inline constexpr uint32_t kOldestEventFormatVersion = 3;

// `event` is one that Decide() gave. The same event gives the same bytes. They carry no
// checksum: whoever stores them knows better how they can be damaged.
std::string EncodeEvent(const Event& event);

// The event that was encoded. DATA_LOSS for bytes that no event has: cut, or with
// numbers out of their ranges; FAILED_PRECONDITION where a later version of the format
// wrote them, or one before the oldest, or they name a policy's later version. An event
// that was damaged into another one is not noticed.
absl::StatusOr<Event> DecodeEvent(std::string_view bytes);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_EVENT_CODEC_H_
