#include "server/web/http_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace evenpack {
namespace {

constexpr char kEndOfHeader[] = "\r\n\r\n";

bool WouldBlock() { return errno == EAGAIN || errno == EWOULDBLOCK; }

// recv that is not interrupted.
ssize_t Receive(int fd, char* bytes, size_t size) {
  ssize_t count = 0;
  do {
    count = recv(fd, bytes, size, 0);
  } while (count < 0 && errno == EINTR);
  return count;
}

}  // namespace

HttpConnection::HttpConnection(FileDescriptor socket,
                               const HttpConnectionLimits& limits, Clock::TimePoint now)
    : socket_(std::move(socket)),
      limits_(limits),
      deadline_(now + limits.request_timeout) {}

int16_t HttpConnection::events() const {
  switch (state_) {
    case State::kReading:
    case State::kClosing:
      return POLLIN;
    case State::kWriting:
      return POLLOUT;
    case State::kAnswering:
    case State::kClosed:
      return 0;
  }
  return 0;
}

void HttpConnection::HurryUntil(Clock::TimePoint deadline) {
  deadline_ = std::min(deadline_, deadline);
}

std::optional<std::string> HttpConnection::Advance(Clock::TimePoint now) {
  if (state_ == State::kReading) return Read();
  if (state_ == State::kWriting) Write(now);
  if (state_ == State::kClosing) Discard();
  return std::nullopt;
}

void HttpConnection::Reply(std::string answer, Clock::TimePoint now) {
  answer_ = std::move(answer);
  state_ = State::kWriting;
  deadline_ = now + limits_.answer_timeout;
  Advance(now);
}

std::optional<std::string> HttpConnection::Read() {
  char bytes[4096];
  for (;;) {
    const size_t room = limits_.max_request_bytes - request_.size();
    const ssize_t count = Receive(socket_.get(), bytes, std::min(room, sizeof(bytes)));
    if (count < 0 && WouldBlock()) return std::nullopt;
    if (count <= 0) {
      state_ = State::kClosed;
      return std::nullopt;
    }
    // The end may lie across two reads.
    const size_t from = request_.size() < 3 ? 0 : request_.size() - 3;
    request_.append(bytes, static_cast<size_t>(count));
    const size_t end = request_.find(kEndOfHeader, from);
    if (end != std::string::npos) {
      request_.resize(end + sizeof(kEndOfHeader) - 1);
    } else if (request_.size() < limits_.max_request_bytes) {
      continue;
    }
    state_ = State::kAnswering;
    deadline_ = Clock::TimePoint::max();
    return std::move(request_);
  }
}

void HttpConnection::Write(Clock::TimePoint now) {
  while (written_ < answer_.size()) {
    const ssize_t count = send(socket_.get(), answer_.data() + written_,
                               answer_.size() - written_, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && WouldBlock()) return;
    if (count < 0) {
      state_ = State::kClosed;
      return;
    }
    written_ += static_cast<size_t>(count);
  }
  answer_ = std::string();
  shutdown(socket_.get(), SHUT_WR);
  state_ = State::kClosing;
  deadline_ = now + limits_.close_timeout;
}

// What the client sent after its request is read before the socket is closed: else the
// system would reset the connection, and the answer with it.
void HttpConnection::Discard() {
  char bytes[4096];
  for (int i = 0; i < 16; ++i) {
    const ssize_t count = Receive(socket_.get(), bytes, sizeof(bytes));
    if (count > 0) continue;
    if (count == 0 || !WouldBlock()) state_ = State::kClosed;
    return;
  }
}

}  // namespace evenpack
