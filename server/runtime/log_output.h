// Lines to a descriptor whose reader may stand still. Written as usual, one line to a
// pipe that is full would hold up whoever logs, and the locks it has, for as long as
// nobody reads.
#ifndef EVENPACK_SERVER_RUNTIME_LOG_OUTPUT_H_
#define EVENPACK_SERVER_RUNTIME_LOG_OUTPUT_H_

#include <chrono>
#include <cstdint>
#include <string_view>

namespace evenpack {

// For one thread at a time.
class LogOutput {
 public:
  // `patience`: how long there may be no room, in whole milliseconds.
  LogOutput(int descriptor, std::chrono::milliseconds patience)
      : descriptor_(descriptor), patience_(patience) {}

  // Whether all of a line, which has its line feed, was written. Once one wasn't for
  // want of room, the next are tried without waiting until one is.
  bool Write(std::string_view line);

  // Lines that were not written, or not whole, since the last Forget.
  uint64_t left_out() const { return left_out_; }
  void Forget() { left_out_ = 0; }

 private:
  bool WriteAll(std::string_view bytes);
  bool AwaitRoom();

  const int descriptor_;
  const std::chrono::milliseconds patience_;
  // Whether the last line found no room.
  bool stuck_ = false;
  // Whether it ended before its line feed.
  bool cut_ = false;
  uint64_t left_out_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_LOG_OUTPUT_H_
