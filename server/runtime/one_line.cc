#include "server/runtime/one_line.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "server/runtime/utf8_text.h"

namespace evenpack {
namespace {

// Codes of characters, from the first to the last.
struct Codes {
  char32_t first;
  char32_t last;
};

// Controls, separators of lines, and what has no width or turns the text about: it
// would show another value than there is.
constexpr Codes kUnseen[] = {{0x00, 0x1f},      {0x7f, 0x9f},     {0xad, 0xad},
                             {0x61c, 0x61c},    {0x200b, 0x200f}, {0x2028, 0x202e},
                             {0x2060, 0x206f},  {0xfeff, 0xfeff}, {0xfff9, 0xfffb},
                             {0xe0000, 0xe007f}};

bool IsUnseen(char32_t code) {
  return std::ranges::any_of(kUnseen, [code](const Codes& codes) {
    return code >= codes.first && code <= codes.last;
  });
}

}  // namespace

std::string OnOneLine(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const Utf8Character character = FirstCharacter(text);
    const std::string_view bytes = text.substr(0, std::max<size_t>(1, character.bytes));
    if (character.code == '\n') {
      line += "\\n";
    } else if (character.bytes == 0 || IsUnseen(character.code)) {
      for (const char byte : bytes) {
        line += absl::StrFormat("\\x%02x", static_cast<unsigned char>(byte));
      }
    } else {
      line += bytes;
    }
    text.remove_prefix(bytes.size());
  }
  return line;
}

}  // namespace evenpack
