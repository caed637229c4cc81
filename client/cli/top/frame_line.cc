#include "client/cli/top/frame_line.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "client/cli/top/shown_text.h"

namespace evenpack {
namespace {

// ECMA-48's "select graphic rendition".
std::string_view ColorOf(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return "";
    case Tone::kTitle:
      return "\x1b[1m";
    case Tone::kMean:
      return "\x1b[36m";
    case Tone::kExcess:
      return "\x1b[33m";
    case Tone::kOriginal:
      return "\x1b[90m";
  }
  return "";
}

std::string_view BarOf(Tone tone, bool unicode) {
  switch (tone) {
    case Tone::kExcess:
      return unicode ? "▓" : "+";
    case Tone::kOriginal:
      return unicode ? "░" : ".";
    default:
      return unicode ? "█" : "#";
  }
}

constexpr std::array<std::string_view, 9> kBlocks = {" ", "▁", "▂", "▃", "▄",
                                                     "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 9> kMarks = {" ", ".", ":", "-", "=",
                                                    "+", "*", "#", "@"};

}  // namespace

void FrameLine::Put(std::string_view bytes, size_t columns, Tone tone) {
  if (columns == 0) return;
  const std::string_view color = style_.color ? ColorOf(tone) : "";
  text_ += color;
  text_ += bytes;
  if (!color.empty()) text_ += "\x1b[0m";
  used_ += columns;
}

FrameLine& FrameLine::Add(std::string_view text, Tone tone) {
  const ShownText shown = TextInFrame(text, style_.unicode, room());
  Put(shown.text, shown.columns, tone);
  return *this;
}

FrameLine& FrameLine::Tab(size_t column) {
  return Add(std::string(column > used_ ? column - used_ : 1, ' '));
}

FrameLine& FrameLine::Fill(size_t count, Tone tone) {
  count = std::min(count, room());
  std::string bar;
  for (size_t i = 0; i < count; ++i) bar += BarOf(tone, style_.unicode);
  Put(bar, count, tone);
  return *this;
}

FrameLine& FrameLine::Column(double share, Tone tone) {
  if (room() == 0) return *this;
  const auto& marks = style_.unicode ? kBlocks : kMarks;
  const double height = std::clamp(share, 0.0, 1.0) * 8;
  // Something that is there is seen.
  const auto mark =
      static_cast<size_t>(height > 0 ? std::fmax(1, std::round(height)) : 0);
  Put(marks[mark], 1, tone);
  return *this;
}

std::string FrameLine::Take() {
  text_.erase(text_.find_last_not_of(' ') + 1);
  return std::move(text_);
}

}  // namespace evenpack
