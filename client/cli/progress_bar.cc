#include "client/cli/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

namespace evenpack {
namespace {

constexpr size_t kWidth = 30;

}  // namespace

std::ostream* TerminalOrNull() {
  return isatty(STDERR_FILENO) != 0 ? &std::cerr : nullptr;
}

ProgressBar::ProgressBar(std::ostream* stream, std::string label,
                         std::chrono::milliseconds interval)
    : stream_(stream), label_(std::move(label)), interval_(interval) {}

ProgressBar::~ProgressBar() {
  if (drawn_) *stream_ << "\r\x1b[K" << std::flush;
}

void ProgressBar::Update(uint64_t done, uint64_t total) {
  if (stream_ == nullptr || total == 0) return;
  const Clock::time_point now = Clock::now();
  if (now - last_ < interval_) return;
  last_ = now;
  drawn_ = true;
  const double share =
      std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const auto filled = static_cast<size_t>(share * static_cast<double>(kWidth));
  *stream_ << '\r' << label_ << " [" << std::string(filled, '#')
           << std::string(kWidth - filled, ' ') << "] " << static_cast<int>(share * 100)
           << "%\x1b[K" << std::flush;
}

}  // namespace evenpack
