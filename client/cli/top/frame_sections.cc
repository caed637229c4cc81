#include "client/cli/top/frame_sections.h"

#include <algorithm>

namespace evenpack {
namespace {

// How many lines of each section are shown, of `rows` for titles and lines.
std::vector<size_t> SharesOf(const std::vector<FrameSection>& sections, size_t rows) {
  std::vector<size_t> shares(sections.size(), 0);
  for (size_t i = 0; i < sections.size(); ++i) {
    if (sections[i].lines.empty() || rows < 2) continue;
    shares[i] = 1;
    rows -= 2;
  }
  for (bool grew = true; grew && rows > 0;) {
    grew = false;
    for (size_t i = 0; i < sections.size() && rows > 0; ++i) {
      if (shares[i] == 0 || shares[i] == sections[i].lines.size()) continue;
      ++shares[i];
      --rows;
      grew = true;
    }
  }
  return shares;
}

}  // namespace

std::vector<std::string> FitSections(const std::vector<std::string>& header,
                                     const std::vector<FrameSection>& sections,
                                     size_t rows) {
  std::vector<std::string> lines(
      header.begin(),
      header.begin() + static_cast<std::ptrdiff_t>(std::min(header.size(), rows)));
  const std::vector<size_t> shares = SharesOf(sections, rows - lines.size());
  for (size_t i = 0; i < sections.size(); ++i) {
    if (shares[i] == 0) continue;
    lines.push_back(sections[i].title);
    lines.insert(lines.end(), sections[i].lines.begin(),
                 sections[i].lines.begin() + static_cast<std::ptrdiff_t>(shares[i]));
  }
  return lines;
}

}  // namespace evenpack
