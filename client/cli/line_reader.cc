#include "client/cli/line_reader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/quoted_value.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

constexpr size_t kBlock = 256U << 10U;
constexpr std::string_view kBlanks = " \t\r";

std::string_view Trimmed(std::string_view line) {
  const size_t first = line.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(kBlanks) - first + 1);
}

std::string NameOf(uint64_t line) { return absl::StrCat("line ", line); }

}  // namespace

LineReader::LineReader(InputFile file, size_t longest, std::string accepted)
    : file_(std::move(file)), longest_(longest), accepted_(std::move(accepted)) {}

std::string LineReader::LineName() const { return NameOf(lines_); }

absl::Status LineReader::Refuse() const {
  return InvalidField(LineName(), QuotedValue(line_), accepted_);
}

absl::StatusOr<std::optional<std::string_view>> LineReader::Next() {
  uint64_t empty = 0;  // number of the first empty line before this one
  while (true) {
    auto raw = NextRaw();
    if (!raw.ok() || !raw->has_value()) return raw;
    line_ = Trimmed(**raw);
    if (!line_.empty() && empty > 0) {
      return InvalidField(NameOf(empty), "''", accepted_);
    }
    if (!line_.empty()) return line_;
    if (empty == 0) empty = lines_;
  }
}

absl::StatusOr<std::optional<std::string_view>> LineReader::NextRaw() {
  while (true) {
    const size_t end = buffer_.find('\n', scanned_);
    const bool is_whole = end != std::string::npos;
    line_ = std::string_view(buffer_).substr(start_, is_whole ? end - start_ : end);
    const bool is_last = at_end_ && !line_.empty();
    if (is_whole || is_last || line_.size() > longest_) {
      ++lines_;
      if (line_.size() > longest_) return Refuse();
      start_ = is_whole ? end + 1 : buffer_.size();
      scanned_ = start_;
      return line_;
    }
    if (at_end_) return std::nullopt;
    if (absl::Status status = Fill(); !status.ok()) return status;
  }
}

absl::Status LineReader::Fill() {
  buffer_.erase(0, start_);
  start_ = 0;
  scanned_ = buffer_.size();
  buffer_.resize(scanned_ + kBlock);
  const absl::StatusOr<size_t> size = file_.Read(buffer_.data() + scanned_, kBlock);
  buffer_.resize(scanned_ + size.value_or(0));
  if (!size.ok()) return size.status();
  at_end_ = *size == 0;
  return absl::OkStatus();
}

bool LineReader::IsReady() const {
  return at_end_ || buffer_.find('\n', scanned_) != std::string::npos ||
         file_.IsReady();
}

}  // namespace evenpack
