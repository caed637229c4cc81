// One line that shows how far long work has come, and goes away when it is done.
#ifndef EVENPACK_CLIENT_CLI_PROGRESS_BAR_H_
#define EVENPACK_CLIENT_CLI_PROGRESS_BAR_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

namespace evenpack {

// Standard error where a person sees it on a terminal that can draw a line anew, else
// null.
std::ostream* TerminalOrNull();

// Of the terminal that standard error is, at the moment; 80 where it doesn't say.
size_t StandardErrorColumns();

// `line`, which is for standard error, with what removes a bar there before it; the bar
// is drawn anew when it moves on.
std::string InPlaceOfProgress(const std::string& line);

// Draws nothing in the first interval, so that short work leaves no flicker. On
// standard error, a signal that ends the process removes the line first. Not
// thread-safe; of those on standard error, one object at a time.
class ProgressBar {
 public:
  // A null stream draws nothing. `stream` must outlive the bar. No line is as wide as
  // `columns` says, which is asked each time.
  ProgressBar(std::ostream* stream, std::string label,
              std::chrono::milliseconds interval = std::chrono::milliseconds(200),
              std::function<size_t()> columns = StandardErrorColumns);
  // Removes the line.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // `done` of `total`; more often than the interval costs a look at the clock.
  void Update(uint64_t done, uint64_t total);

 private:
  using Clock = std::chrono::steady_clock;

  std::ostream* const stream_;
  const std::string label_;
  const std::chrono::milliseconds interval_;
  const std::function<size_t()> columns_;
  Clock::time_point last_ = Clock::now();
  bool drawn_ = false;
};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_PROGRESS_BAR_H_
