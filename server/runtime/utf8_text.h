// Text in UTF-8, character by character.
#ifndef EVENPACK_SERVER_RUNTIME_UTF8_TEXT_H_
#define EVENPACK_SERVER_RUNTIME_UTF8_TEXT_H_

#include <cstddef>
#include <string_view>

namespace evenpack {

struct Utf8Character {
  char32_t code = 0;
  // That it takes; 0 where there is none.
  size_t bytes = 0;
};

// What `text` begins with, as RFC 3629 has it: none where the text is empty or the
// bytes are no character.
Utf8Character FirstCharacter(std::string_view text);

// Whether the text is characters throughout.
bool IsUtf8(std::string_view text);

// Up to `most` bytes of `text`, without part of a character at the end.
std::string_view BeginningOf(std::string_view text, size_t most);

// Columns of a terminal that `text`, which is UTF-8, takes: one for each character.
size_t ColumnsOf(std::string_view text);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_UTF8_TEXT_H_
