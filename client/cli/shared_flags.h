// The flags that mean the same with and without a server.
#ifndef EVENPACK_CLIENT_CLI_SHARED_FLAGS_H_
#define EVENPACK_CLIENT_CLI_SHARED_FLAGS_H_

#include "client/cli/flag_table.h"

namespace evenpack {

inline constexpr FlagDefinition kLengthsFlag = {
    "--lengths", FlagKind::kValue, "FILE",
    "document lengths in tokens, one a line; - reads stdin"};
inline constexpr FlagDefinition kIndexFlag = {
    "--idx", FlagKind::kValue, "PREFIX",
    "in place of --lengths: the documents of Megatron-Core's PREFIX.idx"};
inline constexpr FlagDefinition kPolicyFlag = {"--policy", FlagKind::kValue,
                                               "original|fixed_greedy|wlb|balanced",
                                               "how documents are packed"};
inline constexpr FlagDefinition kMaxDelayFlag = {
    "--max-delay", FlagKind::kValue, "D",
    "most global batches that a document waits (no bound)"};
inline constexpr FlagDefinition kBacklogLimitFlag = {
    "--backlog-limit", FlagKind::kValue, "B",
    "wlb, balanced: global batches' worth of waiting tokens above which nothing is "
    "admitted (4)"};
inline constexpr FlagDefinition kHybridToleranceFlag = {
    "--hybrid-tolerance", FlagKind::kValue, "PPM",
    "hybrid: how far a rank's tokens may be from the mean, in millionths (20000)"};
inline constexpr FlagDefinition kCrossoverFlag = {
    "--crossover", FlagKind::kValue, "T",
    "workload d^2/T + d: the length at which attention costs as much as the rest "
    "(47000)"};
inline constexpr FlagDefinition kNsPerTokenFlag = {
    "--ns-per-token", FlagKind::kValue, "NS",
    "with --crossover: nanoseconds of a token (1000)"};
inline constexpr FlagDefinition kModelFlag = {
    "--model", FlagKind::kValue, "NAME",
    "workload from a model's shape: 550M, 7B, 30B, 70B, 405B"};
inline constexpr FlagDefinition kHardwareFlag = {"--hardware", FlagKind::kValue, "NAME",
                                                 "with --model: H100, H200 (H100)"};
inline constexpr FlagDefinition kSplitDocumentsFlag = {
    "--split-documents", FlagKind::kBoolean, "true|false",
    "original: cut documents where a micro-batch is full (false)"};
inline constexpr FlagDefinition kSplitOverlongFlag = {
    "--split-overlong", FlagKind::kBoolean, "true|false",
    "cut documents longer than --max-length rather than refuse them (false)"};
inline constexpr FlagDefinition kRepeatFlag = {
    "--repeat", FlagKind::kValue, "K",
    "passes over the file, the later ones shuffled (fisher_yates_mt19937_64) (1)"};
inline constexpr FlagDefinition kSeedFlag = {"--seed", FlagKind::kValue, "S",
                                             "seed of the shuffles (0)"};
inline constexpr FlagDefinition kJsonFlag = {"--json", FlagKind::kSwitch, "",
                                             "write JSON rather than text"};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_SHARED_FLAGS_H_
