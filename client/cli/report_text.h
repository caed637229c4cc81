// Reports as text, for people. Each ends with a newline.
#ifndef EVENPACK_CLIENT_CLI_REPORT_TEXT_H_
#define EVENPACK_CLIENT_CLI_REPORT_TEXT_H_

#include <string>

#include "client/cli/reports.h"

namespace evenpack {

std::string PackText(const PackReport& report);
// A table, and what the best row's balance is worth.
std::string CompareText(const CompareReport& report);
// The first 64 ranks, and all slices where the report has them.
std::string ShardText(const ShardReport& report);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_REPORT_TEXT_H_
