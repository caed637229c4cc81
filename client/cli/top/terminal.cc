#include "client/cli/top/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"

namespace evenpack {
namespace {

// Without a terminal.
constexpr FrameStyle kPlainStyle = {80, 40, false, true};

// Empty where the variable isn't set.
std::string_view Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = Variable(name);
    if (value.empty()) continue;
    const std::string locale = absl::AsciiStrToUpper({value.data(), value.size()});
    return absl::StrContains(locale, "UTF-8") || absl::StrContains(locale, "UTF8");
  }
  return false;
}

}  // namespace

std::optional<TerminalSize> StandardOutputSize() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0) return std::nullopt;
  // A terminal that doesn't know its size has a usual one.
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 ||
      size.ws_row == 0) {
    return TerminalSize();
  }
  return TerminalSize{size.ws_col, size.ws_row};
}

FrameStyle StyleOf(const std::optional<TerminalSize>& terminal) {
  FrameStyle style = kPlainStyle;
  style.unicode = IsUtf8();
  if (!terminal.has_value()) return style;
  style.columns = terminal->columns;
  style.rows = terminal->rows;
  style.color = Variable("NO_COLOR").empty();
  return style;
}

AlternateScreen::AlternateScreen(Output& out) : out_(out) {
  out_.Write("\x1b[?1049h\x1b[?25l");
}

AlternateScreen::~AlternateScreen() { out_.Write("\x1b[?25h\x1b[?1049l"); }

bool AlternateScreen::Show(const std::vector<std::string>& lines) {
  // Each line's rest is cleared, then all below: nothing flickers, nothing old stays.
  // No line's end after the last row, which would scroll.
  return out_.Write("\x1b[H" + absl::StrJoin(lines, "\x1b[K\r\n") + "\x1b[K\x1b[J");
}

}  // namespace evenpack
