// Sections of a frame, which share its rows.
#ifndef EVENPACK_CLIENT_CLI_TOP_FRAME_SECTIONS_H_
#define EVENPACK_CLIENT_CLI_TOP_FRAME_SECTIONS_H_

#include <cstddef>
#include <string>
#include <vector>

namespace evenpack {

struct FrameSection {
  std::string title;
  // Those that matter most first. Without any the section is left out.
  std::vector<std::string> lines;
};

// At most `rows` lines: the first ones of `header`; then sections in order, each with
// its title and at least one line as far as there is room. What room is left goes to
// the sections in turn, a line each, until they have all of theirs.
std::vector<std::string> FitSections(const std::vector<std::string>& header,
                                     const std::vector<FrameSection>& sections,
                                     size_t rows);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_TOP_FRAME_SECTIONS_H_
