// Text, as a name may be, for a frame that counts columns.
#ifndef EVENPACK_CLIENT_CLI_TOP_SHOWN_TEXT_H_
#define EVENPACK_CLIENT_CLI_TOP_SHOWN_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace evenpack {

struct ShownText {
  std::string text;
  // Of a terminal, that it takes.
  size_t columns = 0;
};

// What stands in a frame for `text`, at most `most` columns of it. '?' stands for each
// character that isn't printable ASCII; with `unicode` only for those of which it is
// not certain how many columns they take, or which turn a line about: all but letters
// of Latin, Greek, Cyrillic, Armenian, and those of Chinese, Japanese and Korean, which
// take two. Bytes that are no UTF-8 are a '?' each.
ShownText TextInFrame(std::string_view text, bool unicode, size_t most);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_TOP_SHOWN_TEXT_H_
