// What a selftest says it checked.
#ifndef EVENPACK_GPU_WORKER_APP_SELFTEST_TEXT_H_
#define EVENPACK_GPU_WORKER_APP_SELFTEST_TEXT_H_

#include <string>

#include "gpu_worker/selftest/selftest.h"

namespace evenpack::worker {

// Lines for people.
std::string SelftestText(const SelftestOptions& options, const SelftestReport& report);

// One object: {seed, first_case, cases, tokens, shardings: {NAME: cases},
// ranks: [{ranks, cases}], head_sizes: [{head_size, cases}],
// query_heads_per_kv_head: [{heads, cases}], head_groups: [{groups, cases}],
// sliding_window: cases, padding: cases, errors: [{type, cases, output, log_sum_exp,
// query_gradient, key_gradient, value_gradient, accepted}]}. Errors are over the
// largest number of the definition's result; a type without cases has none.
std::string SelftestJson(const SelftestOptions& options, const SelftestReport& report);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_APP_SELFTEST_TEXT_H_
