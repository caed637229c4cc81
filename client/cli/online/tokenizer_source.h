// Documents as JSON objects, one a line, whose texts a tokenizer of Python counts.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_TOKENIZER_SOURCE_H_
#define EVENPACK_CLIENT_CLI_ONLINE_TOKENIZER_SOURCE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/interrupt.h"
#include "client/cli/online/document_source.h"
#include "client/cli/online/jsonl_source.h"
#include "client/cli/online/tokenizer_process.h"

namespace evenpack {

// The file that --jsonl names, or standard input where `path` is "-". The process that
// reads it is started by Skip or the first Next, whose errors are also those of
// TokenizerProcess. `interrupt` must outlive the source, and so must the thread.
// INVALID_ARGUMENT: the file can't be opened.
absl::StatusOr<std::unique_ptr<DocumentSource>> OpenTokenizerSource(
    const std::string& path, PythonTokenizer tokenizer, JsonlFields fields,
    const Interrupt& interrupt);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_TOKENIZER_SOURCE_H_
