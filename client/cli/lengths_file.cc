#include "client/cli/lengths_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/cli/quoted_value.h"
#include "server/core/document/document.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

constexpr std::string_view kBlanks = " \t\r";
// Longer than any line of a lengths file: what has none is not read to its end.
constexpr size_t kLongestLine = 4096;

std::string_view Trimmed(std::string_view line) {
  const size_t first = line.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(kBlanks) - first + 1);
}

// 0 where `line` is not a length.
uint32_t LengthOf(std::string_view line) {
  uint64_t length = 0;
  for (const char digit : line) {
    if (digit < '0' || digit > '9') return 0;
    length = length * 10 + static_cast<uint64_t>(digit - '0');
    if (length > kMaxDocumentLength) return 0;
  }
  return static_cast<uint32_t>(length);
}

std::string LineName(size_t index) { return absl::StrCat("line ", index + 1); }

// `error` is an errno.
absl::Status Unreadable(const std::string& path, int error) {
  return InvalidField("--lengths",
                      absl::StrCat(QuotedValue(path), " (", std::strerror(error), ")"),
                      "a readable file with one document length a line, or - for "
                      "standard input");
}

absl::Status NotALength(size_t index, std::string_view line) {
  return InvalidField(
      LineName(index), QuotedValue(line),
      absl::StrCat("a document length in tokens, 1 to ", kMaxDocumentLength));
}

// Refuses a last line that has grown too long.
absl::Status CheckLastLine(const std::string& content) {
  const size_t start = content.rfind('\n') + 1;  // 0 where there is no line end
  if (content.size() - start <= kLongestLine) return absl::OkStatus();
  const auto lines = std::count(content.begin(), content.end(), '\n');
  return NotALength(static_cast<size_t>(lines),
                    std::string_view(content).substr(start));
}

absl::StatusOr<std::string> ReadAll(std::FILE* file, const std::string& path) {
  std::string content;
  std::array<char, 65536> block{};
  while (true) {
    const size_t size = std::fread(block.data(), 1, block.size(), file);
    if (size == 0 && std::ferror(file) != 0) return Unreadable(path, errno);
    if (size == 0) return content;
    content.append(block.data(), size);
    if (absl::Status status = CheckLastLine(content); !status.ok()) return status;
  }
}

struct FileCloser {
  // Only ever read from: a failed close loses nothing.
  void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
};

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  if (path == "-") return ReadAll(stdin, path);
  const std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "rbe"));
  if (file == nullptr) return Unreadable(path, errno);
  return ReadAll(file.get(), path);
}

}  // namespace

absl::StatusOr<std::vector<uint32_t>> ParseLengths(std::string_view text) {
  const size_t last = text.find_last_not_of(" \t\r\n");
  if (last == std::string_view::npos) {
    return InvalidField("--lengths", "a file without documents",
                        "one document length in tokens a line, at least one line");
  }
  text = text.substr(0, last + 1);
  std::vector<uint32_t> lengths;
  while (true) {
    const size_t end = text.find('\n');
    const std::string_view line = Trimmed(text.substr(0, end));
    const uint32_t length = LengthOf(line);
    if (length == 0) {
      return NotALength(lengths.size(), line);
    }
    lengths.push_back(length);
    if (end == std::string_view::npos) return lengths;
    text.remove_prefix(end + 1);
  }
}

absl::StatusOr<std::vector<uint32_t>> ReadLengths(const std::string& path) {
  const absl::StatusOr<std::string> content = ReadFile(path);
  if (!content.ok()) return content.status();
  return ParseLengths(*content);
}

absl::Status CheckMaxLength(std::span<const uint32_t> lengths, uint32_t max_length) {
  const auto found =
      std::find_if(lengths.begin(), lengths.end(),
                   [max_length](uint32_t length) { return length > max_length; });
  if (found == lengths.end()) return absl::OkStatus();
  return InvalidField(LineName(static_cast<size_t>(found - lengths.begin())),
                      absl::StrCat("'", *found, "'"),
                      absl::StrCat("1 to ", max_length,
                                   " tokens, which is --max-length, or longer with "
                                   "--split-overlong true"));
}

absl::StatusOr<std::vector<uint32_t>> ReadLengths(const std::string& path,
                                                  uint32_t max_length,
                                                  bool split_overlong) {
  absl::StatusOr<std::vector<uint32_t>> lengths = ReadLengths(path);
  if (!lengths.ok() || split_overlong) return lengths;
  if (absl::Status status = CheckMaxLength(*lengths, max_length); !status.ok()) {
    return status;
  }
  return lengths;
}

}  // namespace evenpack
