#include "server/payload/payload_root.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"
#include "server/payload/token_batch.h"
#include "server/runtime/file_descriptor.h"

namespace evenpack {
namespace {

// A file by the name that the process has for a descriptor of it.
std::string NameOf(const FileDescriptor& file) {
  return absl::StrCat("/proc/self/fd/", file.get());
}

// Rather than that the system could not find out.
bool SaysThatThereIsNone(int error) {
  return error == ENOENT || error == ENOTDIR || error == EACCES || error == ELOOP ||
         error == ENAMETOOLONG;
}

class OpenFile {
 public:
  // `place`: of O_PATH.
  explicit OpenFile(const FileDescriptor& place)
      : descriptor_(open(NameOf(place).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}

  // Of a regular file; else none.
  std::optional<uint64_t> Size() const {
    struct stat found {};
    if (fstat(descriptor_.get(), &found) != 0 || !S_ISREG(found.st_mode)) {
      return std::nullopt;
    }
    return static_cast<uint64_t>(found.st_size);
  }

  absl::Status Read(uint64_t offset, uint64_t bytes, char* to) const {
    while (bytes > 0) {
      const ssize_t read =
          pread(descriptor_.get(), to, bytes, static_cast<off_t>(offset));
      if (read < 0 && errno == EINTR) continue;
      if (read <= 0) {
        return absl::UnavailableError(
            absl::StrCat("token_file: it can't be read at byte ", offset, ": ",
                         read == 0 ? "it ends there" : std::strerror(errno)));
      }
      offset += static_cast<uint64_t>(read);
      bytes -= static_cast<uint64_t>(read);
      to += read;
    }
    return absl::OkStatus();
  }

 private:
  const FileDescriptor descriptor_;
};

absl::Status CheckPlaces(const TokenFile& file, std::span<const uint32_t> lengths,
                         uint64_t size) {
  if (file.token_bytes != 2 && file.token_bytes != 4) {
    return InvalidField("token_file.token_bytes", file.token_bytes, "2 or 4");
  }
  if (file.offsets.size() != lengths.size()) {
    return InvalidField("token_file.offset",
                        absl::StrCat(file.offsets.size(), " values"),
                        absl::StrCat(lengths.size(), ", one for each document"));
  }
  for (size_t i = 0; i < lengths.size(); ++i) {
    const uint64_t bytes = uint64_t{lengths[i]} * file.token_bytes;
    if (bytes <= size && file.offsets[i] <= size - bytes) continue;
    return InvalidField(absl::StrCat("token_file.offset[", i, "]"), file.offsets[i],
                        absl::StrCat("one that leaves ", bytes, " bytes of the file's ",
                                     size, " for the document"));
  }
  return absl::OkStatus();
}

// 16-bit numbers that lie in the back half, as 32-bit numbers from the beginning on.
void Widen(char* tokens, uint64_t count) {
  const char* narrow = tokens + count * 2;
  for (uint64_t i = 0; i < count; ++i) {
    const char low = narrow[i * 2];
    const char high = narrow[i * 2 + 1];
    tokens[i * 4] = low;
    tokens[i * 4 + 1] = high;
    tokens[i * 4 + 2] = 0;
    tokens[i * 4 + 3] = 0;
  }
}

}  // namespace

absl::StatusOr<PayloadRoot> PayloadRoot::Open(const std::string& folder) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(folder, error);
  if (error || !std::filesystem::is_directory(real, error)) {
    return InvalidField("payload-root", absl::StrCat("'", folder, "'"), "a folder");
  }
  return PayloadRoot(real.string());
}

absl::StatusOr<FileDescriptor> PayloadRoot::Find(const std::string& path) const {
  if (folder_.empty()) {
    return absl::FailedPreconditionError(
        "token_file: this server reads no files for its jobs; accepted: token_ids, or "
        "a "
        "server with --payload-root");
  }
  // Where it is is asked of what was found: a folder on the way may become a link to
  // elsewhere at any time. Nothing is opened by that yet, which devices would notice.
  FileDescriptor found(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!found.valid() && !SaysThatThereIsNone(errno)) {
    return absl::UnavailableError(absl::StrCat(
        "token_file.path: '", path, "' can't be opened: ", std::strerror(errno)));
  }
  std::error_code error;
  const std::string real = std::filesystem::read_symlink(NameOf(found), error).string();
  const bool within =
      folder_ == "/" || absl::StartsWith(real, absl::StrCat(folder_, "/"));
  const bool is_absolute =
      absl::StartsWith(path, "/") && path.find('\0') == std::string::npos;
  if (is_absolute && !error && within) return found;
  return InvalidField("token_file.path", absl::StrCat("'", path, "'"),
                      absl::StrCat("the absolute path of a file within ", folder_));
}

absl::StatusOr<std::string> PayloadRoot::Read(const TokenFile& file,
                                              std::span<const uint32_t> lengths) const {
  const absl::StatusOr<FileDescriptor> found = Find(file.path);
  if (!found.ok()) return found.status();
  const OpenFile opened(*found);
  const std::optional<uint64_t> size = opened.Size();
  if (!size.has_value()) {
    return InvalidField("token_file.path", absl::StrCat("'", file.path, "'"),
                        "a file that the server can read");
  }
  if (absl::Status status = CheckPlaces(file, lengths, *size); !status.ok()) {
    return status;
  }
  const uint64_t total =
      std::accumulate(lengths.begin(), lengths.end(), uint64_t{0}) * kTokenBytes;
  if (total > kMostPayloadBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("token_file: a batch of ", total,
                     " bytes of tokens; accepted: up to ", kMostPayloadBytes));
  }
  std::string tokens(total, '\0');
  char* at = tokens.data();
  for (size_t i = 0; i < lengths.size(); ++i) {
    const uint64_t bytes = uint64_t{lengths[i]} * file.token_bytes;
    // In place: behind room for what it grows by.
    char* const place = at + uint64_t{lengths[i]} * (kTokenBytes - file.token_bytes);
    if (absl::Status status = opened.Read(file.offsets[i], bytes, place);
        !status.ok()) {
      return status;
    }
    if (file.token_bytes == 2) Widen(at, lengths[i]);
    at += uint64_t{lengths[i]} * kTokenBytes;
  }
  return tokens;
}

}  // namespace evenpack
