// Reports as JSON objects, for programs. Each ends with a newline.
#ifndef EVENPACK_CLIENT_CLI_REPORT_JSON_H_
#define EVENPACK_CLIENT_CLI_REPORT_JSON_H_

#include <string>

#include "client/cli/reports.h"

namespace evenpack {

// What is measured over full steps is null where there was none.
std::string PackJson(const PackReport& report);
std::string CompareJson(const CompareReport& report);
std::string ShardJson(const ShardReport& report);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_REPORT_JSON_H_
