// A step as one rank received it, for people and for scripts.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_STEP_REPORT_H_
#define EVENPACK_CLIENT_CLI_ONLINE_STEP_REPORT_H_

#include <string>

#include "client/cpp/rank_step.h"

namespace evenpack {

// One line with its end: {step, dp_rank, micro_batches: [{index, tokens, padding,
// workload_ns, documents: [{stream, sequence, id, offset, length}], sharding, slices
// (where the step has a CP rank's): [{document, begin, end}], digest}], digest}.
std::string StepJson(const client::RankStep& step);

// A heading and a table of the rank's micro-batches, with bars for their workloads;
// ends with an empty line.
std::string StepText(const client::RankStep& step);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_STEP_REPORT_H_
