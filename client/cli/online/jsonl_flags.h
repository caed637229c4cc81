// The flags of `ingest` that say what a line of --jsonl is made of.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_JSONL_FLAGS_H_
#define EVENPACK_CLIENT_CLI_ONLINE_JSONL_FLAGS_H_

#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/flag_values.h"
#include "client/cli/online/jsonl_source.h"
#include "client/cli/online/tokenizer_process.h"

namespace evenpack {

struct JsonlFlags {
  std::string path;
  JsonlFields fields;
  // None: tokens are counted here, a text's by its bytes.
  std::optional<PythonTokenizer> tokenizer;
};

// INVALID_ARGUMENT naming the flag, or the two that don't go together.
absl::StatusOr<JsonlFlags> ReadJsonlFlags(const FlagValues& values);

// Those that mean nothing without --jsonl.
std::span<const char* const> JsonlFlagNames();

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_JSONL_FLAGS_H_
