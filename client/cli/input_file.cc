#include "client/cli/input_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/quoted_value.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

// `error` is an errno.
absl::Status UnreadableFile(const std::string& flag, const std::string& path,
                            const std::string& accepted, int error) {
  return InvalidField(
      flag, absl::StrCat(QuotedValue(path), " (", std::strerror(error), ")"), accepted);
}

}  // namespace

absl::StatusOr<InputFile> InputFile::Open(const std::string& flag,
                                          const std::string& path,
                                          const std::string& accepted) {
  if (path == "-") return InputFile(STDIN_FILENO, false, flag, path, accepted);
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return UnreadableFile(flag, path, accepted, errno);
  return InputFile(descriptor, true, flag, path, accepted);
}

InputFile::InputFile(int descriptor, bool owned, std::string flag, std::string path,
                     std::string accepted)
    : descriptor_(descriptor),
      owned_(owned),
      flag_(std::move(flag)),
      path_(std::move(path)),
      accepted_(std::move(accepted)) {}

InputFile::InputFile(InputFile&& other) noexcept
    : descriptor_(other.descriptor_),
      owned_(std::exchange(other.owned_, false)),
      flag_(std::move(other.flag_)),
      path_(std::move(other.path_)),
      accepted_(std::move(other.accepted_)),
      interrupt_(other.interrupt_),
      position_(other.position_) {}

InputFile::~InputFile() {
  // Only ever read from: a failed close loses nothing.
  if (owned_) static_cast<void>(close(descriptor_));
}

absl::Status InputFile::Unreadable(int error) const {
  return UnreadableFile(flag_, path_, accepted_, error);
}

absl::StatusOr<size_t> InputFile::Read(char* buffer, size_t size) {
  while (true) {
    if (interrupt_ != nullptr) {
      std::array<pollfd, 2> waited = {
          {{descriptor_, POLLIN, 0}, {interrupt_->descriptor(), POLLIN, 0}}};
      if (poll(waited.data(), waited.size(), -1) < 0 && errno != EINTR) {
        return Unreadable(errno);
      }
      if (waited[1].revents != 0) return absl::CancelledError("interrupted");
      if (waited[0].revents == 0) continue;
    }
    const ssize_t count = read(descriptor_, buffer, size);
    if (count >= 0) {
      position_ += static_cast<size_t>(count);
      return static_cast<size_t>(count);
    }
    if (errno != EINTR) return Unreadable(errno);
  }
}

bool InputFile::IsReady() const {
  pollfd waited = {descriptor_, POLLIN, 0};
  return poll(&waited, 1, 0) > 0;
}

size_t InputFile::size() const {
  struct stat file {};
  if (fstat(descriptor_, &file) != 0 || !S_ISREG(file.st_mode)) return 0;
  return static_cast<size_t>(file.st_size);
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& flag,
                                          const std::string& path,
                                          const std::string& accepted, size_t most) {
  absl::StatusOr<InputFile> file = InputFile::Open(flag, path, accepted);
  if (!file.ok()) return file.status();
  std::string content;
  std::array<char, 65536> block{};
  while (true) {
    const absl::StatusOr<size_t> size = file->Read(block.data(), block.size());
    if (!size.ok()) return size.status();
    if (*size == 0) return content;
    content.append(block.data(), *size);
    if (content.size() > most) {
      return InvalidField(flag, QuotedValue(path),
                          absl::StrCat("a file of at most ", most, " bytes"));
    }
  }
}

}  // namespace evenpack
