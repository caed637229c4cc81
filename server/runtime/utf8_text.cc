#include "server/runtime/utf8_text.h"

#include <algorithm>
#include <array>

namespace evenpack {
namespace {

// A character's first byte is `lead` where `mask` looks; it has no code below `least`.
struct Form {
  unsigned char mask;
  unsigned char lead;
  char32_t least;
};

constexpr std::array<Form, 4> kForms = {{{0x80, 0x00, 0x0},
                                         {0xe0, 0xc0, 0x80},
                                         {0xf0, 0xe0, 0x800},
                                         {0xf8, 0xf0, 0x10000}}};
constexpr char32_t kLastCode = 0x10ffff;

bool IsContinuation(char character) {
  return (static_cast<unsigned char>(character) & 0xc0U) == 0x80;
}

bool IsSurrogate(char32_t code) { return code >= 0xd800 && code <= 0xdfff; }

}  // namespace

Utf8Character FirstCharacter(std::string_view text) {
  if (text.empty()) return {};
  const auto lead = static_cast<unsigned char>(text.front());
  for (size_t bytes = 1; bytes <= kForms.size(); ++bytes) {
    const Form& form = kForms[bytes - 1];
    if ((lead & form.mask) != form.lead) continue;
    if (text.size() < bytes) return {};
    char32_t code = lead & ~form.mask & 0xffU;
    for (const char next : text.substr(1, bytes - 1)) {
      if (!IsContinuation(next)) return {};
      code = code << 6U | (static_cast<unsigned char>(next) & 0x3fU);
    }
    if (code < form.least || code > kLastCode || IsSurrogate(code)) return {};
    return {code, bytes};
  }
  return {};
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t bytes = FirstCharacter(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string_view BeginningOf(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  for (size_t part = 1; part < kForms.size() && part <= most; ++part) {
    const size_t bytes = FirstCharacter(text.substr(most - part)).bytes;
    if (bytes > part) return text.substr(0, most - part);
  }
  return text.substr(0, most);
}

size_t ColumnsOf(std::string_view text) {
  return text.size() -
         static_cast<size_t>(std::count_if(text.begin(), text.end(), IsContinuation));
}

}  // namespace evenpack
