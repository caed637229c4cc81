// A line of a terminal's frame: text and bars, cut off at its end.
#ifndef EVENPACK_CLIENT_CLI_TOP_FRAME_LINE_H_
#define EVENPACK_CLIENT_CLI_TOP_FRAME_LINE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace evenpack {

struct FrameStyle {
  // Of the terminal; lines and frames are no longer.
  size_t columns = 80;
  size_t rows = 60;
  bool color = false;
  // Block characters rather than ASCII.
  bool unicode = true;
};

// What a piece of a line is, which decides its colour.
enum class Tone : uint8_t { kPlain, kTitle, kMean, kExcess, kOriginal };

// Not thread-safe.
class FrameLine {
 public:
  explicit FrameLine(const FrameStyle& style) : style_(style) {}

  // As TextInFrame has it.
  FrameLine& Add(std::string_view text, Tone tone = Tone::kPlain);
  // Blanks up to this column, and at least one.
  FrameLine& Tab(size_t column);
  // A stretch of a bar: kMean is solid, kExcess lighter, kOriginal faint.
  FrameLine& Fill(size_t count, Tone tone);
  // A column of `share`, 0 to 1, of the line's height.
  FrameLine& Column(double share, Tone tone);

  // Columns that are left.
  size_t room() const { return style_.columns - used_; }
  // Without blanks at its end.
  std::string Take();

 private:
  // Characters that take a column each.
  void Put(std::string_view bytes, size_t columns, Tone tone);

  const FrameStyle style_;
  std::string text_;
  size_t used_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_TOP_FRAME_LINE_H_
