#include "server/runtime/log_output.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string>

namespace evenpack {

bool LogOutput::Write(std::string_view line) {
  const bool written = cut_ ? WriteAll(std::string("\n").append(line)) : WriteAll(line);
  if (!written) ++left_out_;
  return written;
}

bool LogOutput::WriteAll(std::string_view bytes) {
  const size_t size = bytes.size();
  while (!bytes.empty()) {
    if (!AwaitRoom()) {
      stuck_ = true;
      break;
    }
    // Of a pipe with room, poll promises that so much doesn't block.
    const ssize_t written =
        write(descriptor_, bytes.data(), std::min<size_t>(bytes.size(), PIPE_BUF));
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR && errno != EAGAIN) {
      break;
    }
  }
  if (bytes.size() < size) cut_ = !bytes.empty();
  if (bytes.empty()) stuck_ = false;
  return bytes.empty();
}

bool LogOutput::AwaitRoom() {
  pollfd asked{.fd = descriptor_, .events = POLLOUT, .revents = 0};
  const auto patience = stuck_ ? std::chrono::milliseconds(0) : patience_;
  int found = 0;
  do {
    found = poll(&asked, 1, static_cast<int>(patience.count()));
  } while (found < 0 && errno == EINTR);
  // Anything but that there is no room is for the write to tell.
  return found != 0;
}

}  // namespace evenpack
