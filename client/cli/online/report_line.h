// A line of what is told of a job or a profile.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_REPORT_LINE_H_
#define EVENPACK_CLIENT_CLI_ONLINE_REPORT_LINE_H_

#include <string>
#include <string_view>

#include "absl/strings/str_format.h"

namespace evenpack {

// The values of lines one below another begin in the same column, for names of up to
// ten characters.
inline std::string ReportLine(std::string_view name, std::string_view value) {
  return absl::StrFormat("%-10s %s\n", name, value);
}

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_REPORT_LINE_H_
