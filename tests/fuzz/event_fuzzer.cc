// Bytes that come from anywhere are refused, or are an event with bytes of its own.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "server/core/engine/event_codec.h"
#include "tests/fuzz/require.h"

namespace {

constexpr size_t kVersionBytes = sizeof(evenpack::kEventFormatVersion);

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenpack;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<Event> event = DecodeEvent(bytes);
  if (!event.ok()) {
    fuzz::RequireRefusal(event.status(), "bytes that are no event",
                         absl::StatusCode::kDataLoss,
                         absl::StatusCode::kFailedPrecondition);
    return 0;
  }
  const std::string own = EncodeEvent(*event);
  // Accepted documents leave out columns of defaults that a writer may have written; a
  // version before has other bytes.
  fuzz::Require(own == bytes || std::holds_alternative<DocumentsAccepted>(*event) ||
                    bytes.substr(0, kVersionBytes) != own.substr(0, kVersionBytes),
                "an event that is read has its own bytes");
  const Event again = fuzz::Required(DecodeEvent(own), "an event's own bytes are read");
  fuzz::Require(again.index() == event->index(), "they are the same event's");
  if (const auto* accepted = std::get_if<DocumentsAccepted>(&*event)) {
    fuzz::Require(std::get<DocumentsAccepted>(again).documents == accepted->documents,
                  "no document changes");
  }
  fuzz::Require(EncodeEvent(again) == own, "an event has one form");
  return 0;
}
