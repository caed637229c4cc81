#include "client/cli/top/shown_text.h"

#include <algorithm>

#include "server/runtime/utf8_text.h"

namespace evenpack {
namespace {

// Codes of characters from the first to the last, each of so many columns.
struct Width {
  char32_t first;
  char32_t last;
  size_t columns;
};

// Without marks that stand upon the letter before them. Two columns: Unicode Standard
// Annex 11, "wide" and "fullwidth".
constexpr Width kWidths[] = {
    {0xa1, 0xac, 1},     {0xae, 0x2ff, 1},    {0x370, 0x482, 1},   {0x48a, 0x58f, 1},
    {0x1e00, 0x1fff, 1}, {0x3001, 0x3029, 2}, {0x3041, 0x3096, 2}, {0x309b, 0x30ff, 2},
    {0x3400, 0x4dbf, 2}, {0x4e00, 0x9fff, 2}, {0xac00, 0xd7a3, 2}, {0xff01, 0xff60, 2}};

// 0 where it is shown as '?'.
size_t ColumnsShown(char32_t code, bool unicode) {
  if (code >= ' ' && code <= '~') return 1;
  if (!unicode) return 0;
  const auto* const width = std::ranges::find_if(kWidths, [code](const Width& each) {
    return code >= each.first && code <= each.last;
  });
  return width == std::end(kWidths) ? 0 : width->columns;
}

}  // namespace

ShownText TextInFrame(std::string_view text, bool unicode, size_t most) {
  ShownText shown;
  while (!text.empty()) {
    const Utf8Character character = FirstCharacter(text);
    const std::string_view bytes = text.substr(0, std::max<size_t>(1, character.bytes));
    const size_t columns =
        character.bytes > 0 ? ColumnsShown(character.code, unicode) : 0;
    if (shown.columns + std::max<size_t>(1, columns) > most) break;
    shown.text += columns > 0 ? bytes : "?";
    shown.columns += std::max<size_t>(1, columns);
    text.remove_prefix(bytes.size());
  }
  return shown;
}

}  // namespace evenpack
