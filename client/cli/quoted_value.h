// A value from outside as an error message shows it.
#ifndef EVENPACK_CLIENT_CLI_QUOTED_VALUE_H_
#define EVENPACK_CLIENT_CLI_QUOTED_VALUE_H_

#include <string>
#include <string_view>

namespace evenpack {

// In single quotes, on one line whatever it holds, and cut where it is long.
std::string QuotedValue(std::string_view value);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_QUOTED_VALUE_H_
