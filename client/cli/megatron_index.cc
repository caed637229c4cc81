#include "client/cli/megatron_index.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/quoted_value.h"
#include "server/core/document/document.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/one_line.h"

namespace evenpack {
namespace {

constexpr std::string_view kMagic("MMIDIDX\0\0", 9);
constexpr uint64_t kVersion = 1;
constexpr uint64_t kTypes = 8;
constexpr size_t kVersionAt = 9;
constexpr size_t kTypeAt = 17;
constexpr size_t kSequencesAt = 18;
constexpr size_t kIndicesAt = 26;
constexpr size_t kHeaderBytes = 34;
constexpr uint64_t kBytesPerSize = 4;
constexpr uint64_t kBytesPerPointer = 8;
constexpr uint64_t kBytesPerIndex = 8;

using Header = std::array<char, kHeaderBytes>;

uint64_t Word(const Header& header, size_t at) {
  return static_cast<uint64_t>(LittleEndian(header.data() + at, 8));
}

std::string In(const BinaryFile& file, std::string_view what) {
  return absl::StrCat(OnOneLine(file.path()), ": ",
                      absl::string_view(what.data(), what.size()));
}

absl::Status Refuse(const BinaryFile& file, const std::string& field, uint64_t at,
                    const absl::AlphaNum& value, const std::string& accepted) {
  return InvalidField(In(file, absl::StrCat(field, " at byte ", at)), value, accepted);
}

// A file that is shorter than a header holds only some of it.
absl::StatusOr<Header> ReadHeader(const BinaryFile& file) {
  Header header{};
  const size_t read = std::min<uint64_t>(file.size(), kHeaderBytes);
  absl::Status status = file.ReadAt(0, std::span(header).first(read));
  if (!status.ok()) return status;
  const std::string_view magic(header.data(), std::min(read, kMagic.size()));
  if (!kMagic.starts_with(magic)) {
    return Refuse(file, "magic", 0, QuotedValue(magic), QuotedValue(kMagic));
  }
  if (read < kHeaderBytes) {
    return InvalidField(In(file, "size in bytes"), file.size(),
                        absl::StrCat("at least ", kHeaderBytes,
                                     ", the header of a Megatron-Core index"));
  }
  const uint64_t version = Word(header, kVersionAt);
  if (version != kVersion) {
    return Refuse(file, "version", kVersionAt, version, absl::StrCat(kVersion));
  }
  const auto type = static_cast<unsigned char>(header[kTypeAt]);
  if (type < 1 || type > kTypes) {
    return Refuse(file, "type of a token", kTypeAt, int{type},
                  absl::StrCat("1 to ", kTypes));
  }
  return header;
}

// That the file has the bytes that its counts ask for, and no others.
absl::Status CheckSize(const BinaryFile& file, uint64_t sequences, uint64_t indices) {
  constexpr uint64_t kBytesPerSequence = kBytesPerSize + kBytesPerPointer;
  const uint64_t bytes = file.size() - kHeaderBytes;
  const uint64_t most_sequences = bytes / kBytesPerSequence;
  const std::string room =
      absl::StrCat(", for which ", file.size(), " bytes have room");
  if (sequences > most_sequences) {
    return Refuse(file, "count of sequences", kSequencesAt, sequences,
                  absl::StrCat("0 to ", most_sequences, room));
  }
  const uint64_t behind = bytes - sequences * kBytesPerSequence;
  const uint64_t most_indices = behind / kBytesPerIndex;
  // The first is 0 and the last the count of sequences.
  const uint64_t least_indices = sequences > 0 ? 2 : 1;
  if (indices < least_indices || indices > most_indices) {
    return Refuse(file, "count of document indices", kIndicesAt, indices,
                  most_indices < least_indices
                      ? absl::StrCat(least_indices, " or more, in a longer file")
                      : absl::StrCat(least_indices, " to ", most_indices, room));
  }
  const uint64_t modes = behind - indices * kBytesPerIndex;
  if (modes == 0 || modes == sequences) return absl::OkStatus();
  const uint64_t plain = file.size() - modes;
  return InvalidField(
      In(file, "size in bytes"), file.size(),
      absl::StrCat(plain, " for ", sequences, " sequences and ", indices,
                   " document indices, or ", plain + sequences, " with modes"));
}

}  // namespace

std::string MegatronIndexPath(const std::string& prefix) {
  return absl::EndsWith(prefix, ".idx") ? prefix : absl::StrCat(prefix, ".idx");
}

absl::StatusOr<MegatronIndexReader> MegatronIndexReader::Open(const std::string& path) {
  absl::StatusOr<BinaryFile> opened = BinaryFile::Open(
      "--idx", path,
      "the path of a Megatron-Core index, with or without .idx at its end");
  if (!opened.ok()) return opened.status();
  const auto file = std::make_shared<const BinaryFile>(*std::move(opened));
  const absl::StatusOr<Header> header = ReadHeader(*file);
  if (!header.ok()) return header.status();
  const uint64_t sequences = Word(*header, kSequencesAt);
  const uint64_t indices = Word(*header, kIndicesAt);
  absl::Status status = CheckSize(*file, sequences, indices);
  if (!status.ok()) return status;
  MegatronIndexReader reader(file, sequences, indices);
  status = reader.ReadFirstIndex();
  if (!status.ok()) return status;
  return reader;
}

MegatronIndexReader::MegatronIndexReader(const std::shared_ptr<const BinaryFile>& file,
                                         uint64_t sequences, uint64_t indices)
    : file_(file),
      sequences_(file, kHeaderBytes, sequences, kBytesPerSize),
      indices_(file, kHeaderBytes + sequences * (kBytesPerSize + kBytesPerPointer),
               indices, kBytesPerIndex) {}

absl::Status MegatronIndexReader::ReadFirstIndex() {
  const absl::StatusOr<int64_t> first = indices_.Next();
  if (!first.ok()) return first.status();
  if (*first == 0) return absl::OkStatus();
  return Refuse(*file_, "document index 0", indices_.latest_offset(), *first, "0");
}

absl::StatusOr<uint64_t> MegatronIndexReader::NextEnd() {
  const absl::StatusOr<int64_t> end = indices_.Next();
  if (!end.ok()) return end.status();
  const bool is_last = indices_.position() == indices_.count();
  const uint64_t least = is_last ? sequences_.count() : sequences_.position();
  // A negative one is above them all.
  const auto sequences = static_cast<uint64_t>(*end);
  if (sequences >= least && sequences <= sequences_.count()) return sequences;
  return Refuse(*file_, absl::StrCat("document index ", indices_.position() - 1),
                indices_.latest_offset(), *end,
                is_last ? absl::StrCat(least, ", the count of sequences")
                        : absl::StrCat(least, " to ", sequences_.count(),
                                       ": they rise to the count of sequences"));
}

absl::StatusOr<uint32_t> MegatronIndexReader::NextSequence() {
  const absl::StatusOr<int64_t> tokens = sequences_.Next();
  if (!tokens.ok()) return tokens.status();
  if (*tokens >= 0) return static_cast<uint32_t>(*tokens);
  return Refuse(*file_, absl::StrCat("tokens of sequence ", sequences_.position() - 1),
                sequences_.latest_offset(), *tokens,
                absl::StrCat("0 to ", kMaxDocumentLength));
}

absl::StatusOr<std::optional<uint32_t>> MegatronIndexReader::Next() {
  if (indices_.position() == indices_.count()) return std::nullopt;
  const absl::StatusOr<uint64_t> end = NextEnd();
  if (!end.ok()) return end.status();
  uint64_t tokens = 0;
  while (sequences_.position() < *end) {
    const absl::StatusOr<uint32_t> more = NextSequence();
    if (!more.ok()) return more.status();
    tokens += *more;
  }
  if (tokens > kMaxDocumentLength) {
    return InvalidField(absl::StrCat(DocumentName(), ": tokens of its sequences"),
                        tokens, absl::StrCat("0 to ", kMaxDocumentLength));
  }
  return static_cast<uint32_t>(tokens);
}

std::string MegatronIndexReader::DocumentName() const {
  return In(*file_, absl::StrCat("document ", indices_.position() - 2));
}

}  // namespace evenpack
