// Text from outside on one line.
#ifndef EVENPACK_SERVER_RUNTIME_ONE_LINE_H_
#define EVENPACK_SERVER_RUNTIME_ONE_LINE_H_

#include <string>
#include <string_view>

namespace evenpack {

// `text` on one line, whatever bytes a file or a library gave: control characters,
// those that can't be seen, and bytes that aren't UTF-8 are escaped.
std::string OnOneLine(std::string_view text);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_ONE_LINE_H_
