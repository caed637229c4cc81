#include "client/cli/progress_bar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace evenpack {
namespace {

constexpr size_t kWidest = 30;
// A shorter bar says nothing that the number doesn't.
constexpr size_t kNarrowest = 5;
constexpr std::string_view kRemoval = "\r\x1b[K";
constexpr std::array kSignals = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

extern "C" void RemoveLineAndEnd(int signal) {
  // Nothing can be done about a terminal that is gone.
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, kRemoval.data(), kRemoval.size());
  // Its action is the system's again, and it waits until this one returns.
  raise(signal);
}

// From `expected` to `handler`, the signals for which that is the action.
void Replace(void (*expected)(int), void (*handler)(int), int flags) {
  for (const int signal : kSignals) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0) continue;
    if (action.sa_handler != expected) continue;
    action = {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(signal, &action, nullptr);
  }
}

// The bar of `share`, 0 to 1, and its number, in fewer than `columns`; empty where not
// even that fits. The last column stays free: terminals differ in what follows there.
std::string LineOf(const std::string& label, double share, size_t columns) {
  const std::string percent = absl::StrCat(static_cast<int>(share * 100), "%");
  const size_t room = columns > 0 ? columns - 1 : 0;
  const size_t beside = label.size() + std::string_view(" [] 100%").size();
  const size_t width = std::min(kWidest, room > beside ? room - beside : 0);
  if (width >= kNarrowest) {
    const auto filled = static_cast<size_t>(share * static_cast<double>(width));
    return absl::StrCat(label, " [", std::string(filled, '#'),
                        std::string(width - filled, ' '), "] ", percent);
  }
  if (label.size() + 1 + percent.size() <= room) return label + " " + percent;
  return percent.size() <= room ? percent : "";
}

}  // namespace

std::ostream* TerminalOrNull() {
  const char* const kind = std::getenv("TERM");
  // It can't go back within a line.
  if (kind != nullptr && std::string_view(kind) == "dumb") return nullptr;
  return isatty(STDERR_FILENO) != 0 ? &std::cerr : nullptr;
}

size_t StandardErrorColumns() {
  constexpr size_t kUsual = 80;
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsual;
}

std::string InPlaceOfProgress(const std::string& line) {
  return TerminalOrNull() == nullptr ? line : std::string(kRemoval) + line;
}

ProgressBar::ProgressBar(std::ostream* stream, std::string label,
                         std::chrono::milliseconds interval,
                         std::function<size_t()> columns)
    : stream_(stream),
      label_(std::move(label)),
      interval_(interval),
      columns_(std::move(columns)) {}

ProgressBar::~ProgressBar() {
  if (!drawn_) return;
  *stream_ << kRemoval << std::flush;
  if (stream_ == &std::cerr) Replace(RemoveLineAndEnd, SIG_DFL, 0);
}

void ProgressBar::Update(uint64_t done, uint64_t total) {
  if (stream_ == nullptr || total == 0) return;
  const Clock::time_point now = Clock::now();
  if (now - last_ < interval_) return;
  last_ = now;
  // Whoever is asked to stop otherwise removes the bar as they end it.
  if (!drawn_ && stream_ == &std::cerr) {
    Replace(SIG_DFL, RemoveLineAndEnd, static_cast<int>(SA_RESETHAND));
  }
  drawn_ = true;
  const double share =
      std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  // At once, as standard error has no buffer.
  *stream_ << absl::StrCat("\r", LineOf(label_, share, columns_()), "\x1b[K")
           << std::flush;
}

}  // namespace evenpack
