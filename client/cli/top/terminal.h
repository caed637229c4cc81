// The terminal that standard output may be.
#ifndef EVENPACK_CLIENT_CLI_TOP_TERMINAL_H_
#define EVENPACK_CLIENT_CLI_TOP_TERMINAL_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/output.h"
#include "client/cli/top/frame_line.h"

namespace evenpack {

struct TerminalSize {
  size_t columns = 80;
  size_t rows = 24;
};

// Of standard output, at the moment; none where it is no terminal.
std::optional<TerminalSize> StandardOutputSize();

// Plain text of 80 columns where there is no terminal. Colours unless NO_COLOR is set
// (no-color.org); block characters where LC_ALL, LC_CTYPE or LANG, the first that is
// set, says UTF-8. Reads the environment.
FrameStyle StyleOf(const std::optional<TerminalSize>& terminal);

// The terminal's second screen, and no cursor, from Begin on; what was there before
// comes back at the end. Not thread-safe.
class AlternateScreen {
 public:
  // `out` outlives the screen.
  explicit AlternateScreen(Output& out);
  ~AlternateScreen();
  AlternateScreen(const AlternateScreen&) = delete;
  AlternateScreen& operator=(const AlternateScreen&) = delete;

  // In place of what it shows. False as Output::Write.
  bool Show(const std::vector<std::string>& lines);

 private:
  Output& out_;
};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_TOP_TERMINAL_H_
