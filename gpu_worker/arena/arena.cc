#include "gpu_worker/arena/arena.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::worker {

namespace {

ArenaHeader& HeaderOf(const SharedMemory& memory) {
  return *reinterpret_cast<ArenaHeader*>(memory.data());
}

absl::Status CheckHeader(const ArenaHeader& header, ArenaKind kind) {
  if (header.magic != kArenaMagic || header.version != kArenaVersion ||
      header.slots != kRingSlots || header.data_offset != kDataOffset) {
    return absl::InvalidArgumentError(
        absl::StrCat("an arena of version ", header.version,
                     "; accepted: ", kArenaVersion, ", as this program has it"));
  }
  if (header.kind == kind) return absl::OkStatus();
  return InvalidField(
      "arena_kind", static_cast<uint32_t>(header.kind),
      absl::StrCat(static_cast<uint32_t>(kind), ", which was asked for"));
}

absl::Status WrongSize(uint64_t said, uint64_t found) {
  return absl::InvalidArgumentError(absl::StrCat("an arena that says to have ", said,
                                                 " bytes; accepted: ", found,
                                                 ", which its memory has"));
}

}  // namespace

absl::Status CheckArenaBytes(uint64_t bytes) {
  if (bytes != 0 && bytes <= kMaxArenaBytes) return absl::OkStatus();
  return InvalidField("arena_bytes", bytes, absl::StrCat("1 to ", kMaxArenaBytes));
}

absl::StatusOr<Arena> Arena::Make(size_t ring_bytes,
                                  std::unique_ptr<TensorMemory> tensors) {
  absl::StatusOr<SharedMemory> memory = SharedMemory::Create(ring_bytes);
  if (!memory.ok()) return memory.status();
  Arena arena(*std::move(memory), std::move(tensors));
  ArenaHeader& header = arena.header();
  header.magic = kArenaMagic;
  header.version = kArenaVersion;
  header.slots = kRingSlots;
  header.data_offset = kDataOffset;
  header.data_bytes = arena.data_bytes();
  header.kind = arena.kind();
  if (arena.tensors_ != nullptr) header.device = arena.tensors_->device();
  return arena;
}

absl::StatusOr<Arena> Arena::Create(uint64_t data_bytes) {
  if (absl::Status status = CheckArenaBytes(data_bytes); !status.ok()) return status;
  return Make(kDataOffset + data_bytes, nullptr);
}

absl::StatusOr<Arena> Arena::Create(std::unique_ptr<TensorMemory> tensors) {
  if (absl::Status status = CheckArenaBytes(tensors->bytes()); !status.ok())
    return status;
  return Make(kDataOffset, std::move(tensors));
}

absl::StatusOr<Arena> Arena::Open(FileDescriptor descriptor) {
  absl::StatusOr<SharedMemory> memory = SharedMemory::Map(std::move(descriptor));
  if (!memory.ok()) return memory.status();
  if (memory->size() <= kDataOffset) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an arena of ", memory->size(), " bytes; accepted: more than ", kDataOffset));
  }
  const ArenaHeader& header = HeaderOf(*memory);
  if (absl::Status status = CheckHeader(header, ArenaKind::kHost); !status.ok()) {
    return status;
  }
  Arena arena(*std::move(memory), nullptr);
  if (header.data_bytes == arena.data_bytes()) return arena;
  return WrongSize(header.data_bytes, arena.data_bytes());
}

absl::StatusOr<Arena> Arena::Open(FileDescriptor descriptor, FileDescriptor tensors,
                                  const MapTensors& map) {
  absl::StatusOr<SharedMemory> memory = SharedMemory::Map(std::move(descriptor));
  if (!memory.ok()) return memory.status();
  if (memory->size() != kDataOffset) {
    return absl::InvalidArgumentError(
        absl::StrCat("a ring of ", memory->size(), " bytes; accepted: ", kDataOffset,
                     ", where the tensors are a device's"));
  }
  const ArenaHeader& header = HeaderOf(*memory);
  absl::Status status = CheckHeader(header, ArenaKind::kCuda);
  if (status.ok()) status = CheckArenaBytes(header.data_bytes);
  if (!status.ok()) return status;
  absl::StatusOr<std::unique_ptr<TensorMemory>> mapped =
      map(std::move(tensors), header.data_bytes, header.device);
  if (!mapped.ok()) return mapped.status();
  return Arena(*std::move(memory), *std::move(mapped));
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
