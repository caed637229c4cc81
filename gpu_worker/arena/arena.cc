#include "gpu_worker/arena/arena.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::worker {

absl::StatusOr<Arena> Arena::Create(uint64_t data_bytes) {
  if (data_bytes == 0 || data_bytes > kMaxArenaBytes) {
    return InvalidField("arena_bytes", data_bytes,
                        absl::StrCat("1 to ", kMaxArenaBytes));
  }
  absl::StatusOr<SharedMemory> memory = SharedMemory::Create(kDataOffset + data_bytes);
  if (!memory.ok()) return memory.status();
  Arena arena(*std::move(memory));
  ArenaHeader& header = arena.header();
  header.magic = kArenaMagic;
  header.version = kArenaVersion;
  header.slots = kRingSlots;
  header.data_offset = kDataOffset;
  header.data_bytes = data_bytes;
  return arena;
}

absl::StatusOr<Arena> Arena::Open(OwnedDescriptor descriptor) {
  absl::StatusOr<SharedMemory> memory = SharedMemory::Map(std::move(descriptor));
  if (!memory.ok()) return memory.status();
  if (memory->size() <= kDataOffset) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an arena of ", memory->size(), " bytes; accepted: more than ", kDataOffset));
  }
  Arena arena(*std::move(memory));
  const ArenaHeader& header = arena.header();
  if (header.magic != kArenaMagic || header.version != kArenaVersion ||
      header.slots != kRingSlots || header.data_offset != kDataOffset ||
      header.data_bytes != arena.data_bytes()) {
    return absl::InvalidArgumentError(
        absl::StrCat("an arena of version ", header.version,
                     "; accepted: ", kArenaVersion, ", as this program has it"));
  }
  return arena;
}

SubmissionSlot& Arena::slot(uint64_t number) const {
  auto* const slots = reinterpret_cast<SubmissionSlot*>(memory_.data() + kRingOffset);
  return slots[(number - 1) % kRingSlots];
}

void WriteResult(const absl::Status& status, SubmissionResult& result) {
  result.code = static_cast<uint32_t>(status.code());
  const absl::string_view message = status.message();
  const size_t size = std::min(message.size(), SubmissionResult::kMessageBytes);
  std::copy_n(message.data(), size, result.message);
  result.message_size = static_cast<uint32_t>(size);
}

absl::Status ReadResult(const SubmissionResult& result) {
  if (result.code == 0) return absl::OkStatus();
  const size_t size =
      std::min<size_t>(result.message_size, SubmissionResult::kMessageBytes);
  return {static_cast<absl::StatusCode>(result.code),
          absl::string_view(result.message, size)};
}

}  // namespace evenpack::worker
