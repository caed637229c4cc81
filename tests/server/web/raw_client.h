// A TCP client that says what a test wants it to, or nothing.
#ifndef EVENPACK_TESTS_SERVER_WEB_RAW_CLIENT_H_
#define EVENPACK_TESTS_SERVER_WEB_RAW_CLIENT_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/runtime/file_descriptor.h"

namespace evenpack::testing {

// Of 127.0.0.1, and nobody's for now.
uint16_t FreePort();

class RawClient {
 public:
  // Connects to 127.0.0.1.
  explicit RawClient(uint16_t port);

  bool connected() const { return socket_.valid(); }
  // Its own.
  uint16_t local_port() const;
  void Send(std::string_view bytes) const;
  // At least one byte, at most `most`; none once the server has closed or reset.
  std::string Receive(size_t most) const;
  // Whether that returns within `time`.
  bool HasMore(std::chrono::milliseconds time) const;
  // All until then.
  std::string ReceiveAll() const;
  void Close();
  // Ends the connection at once, as a killed process whose answers nobody has read.
  void Reset();

 private:
  FileDescriptor socket_;
};

// What a server at the port answers to a request for `path`, header and all.
std::string RawGet(uint16_t port, std::string_view path);

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_WEB_RAW_CLIENT_H_
