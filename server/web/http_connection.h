// A client's connection: one request, one answer, and the end.
#ifndef EVENPACK_SERVER_WEB_HTTP_CONNECTION_H_
#define EVENPACK_SERVER_WEB_HTTP_CONNECTION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "server/runtime/clock.h"
#include "server/runtime/file_descriptor.h"

namespace evenpack {

struct HttpConnectionLimits {
  // Of the request line and header fields; a longer request is answered 400.
  size_t max_request_bytes = 8192;
  // From connected until the request is whole, however busily it trickles.
  std::chrono::milliseconds request_timeout{5000};
  // For the client to take the answer, once there is one.
  std::chrono::milliseconds answer_timeout{10'000};
  // For the client to close the connection after that.
  std::chrono::milliseconds close_timeout{1000};
};

// Never blocks. Not thread-safe.
class HttpConnection {
 public:
  enum class State {
    kReading,    // the request is not whole yet
    kAnswering,  // it is, and was handed out: Reply comes next
    kWriting,    // the client has not taken all of the answer
    kClosing,    // it has: waits for the client to close, so that nothing is lost
    kClosed,
  };

  // `socket` doesn't block.
  HttpConnection(FileDescriptor socket, const HttpConnectionLimits& limits,
                 Clock::TimePoint now);

  State state() const { return state_; }
  int fd() const { return socket_.get(); }
  // What poll shall wait for: POLLIN, POLLOUT, or 0 while answering.
  int16_t events() const;
  // When the connection is to be given up; never while answering.
  Clock::TimePoint deadline() const { return deadline_; }
  // Brings the deadline forward, at most to `deadline`.
  void HurryUntil(Clock::TimePoint deadline);

  // Reads and writes as much as can be had. Returns the request when it becomes whole.
  std::optional<std::string> Advance(Clock::TimePoint now);
  // While answering.
  void Reply(std::string answer, Clock::TimePoint now);

 private:
  std::optional<std::string> Read();
  void Write(Clock::TimePoint now);
  void Discard();

  FileDescriptor socket_;
  const HttpConnectionLimits& limits_;
  State state_ = State::kReading;
  Clock::TimePoint deadline_;
  std::string request_;
  std::string answer_;
  size_t written_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_WEB_HTTP_CONNECTION_H_
