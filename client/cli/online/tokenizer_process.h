// The process of Python that counts the tokens of a JSONL file's texts.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_TOKENIZER_PROCESS_H_
#define EVENPACK_CLIENT_CLI_ONLINE_TOKENIZER_PROCESS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "client/cli/interrupt.h"
#include "client/cli/online/child_process.h"
#include "client/cli/online/jsonl_source.h"

namespace evenpack {

struct PythonTokenizer {
  // The interpreter: a path, or a name in PATH.
  std::string python;
  // "tokenizers:FILE.json" or "tiktoken:ENCODING".
  std::string name;
  // Id or name of a token behind each text.
  std::optional<std::string> end_of_document;
};

// It runs evenpack.corpora.jsonl_lengths, which says what its records are. It tokenizes
// ahead, as far as a pipe holds what it found. Not thread-safe.
class TokenizerProcess {
 public:
  // `fields`: its text may be left out, its length and tokens mean nothing. `input`:
  // the file's descriptor, which stays the caller's. `skip`: documents that are passed
  // over. `interrupt` must outlive the object, and so must this thread.
  // INVALID_ARGUMENT naming --python where there is no such program; INTERNAL.
  static absl::StatusOr<std::unique_ptr<TokenizerProcess>> Start(
      const PythonTokenizer& tokenizer, const JsonlFields& fields, int input,
      uint64_t skip, const Interrupt& interrupt);

  // The next record: an object, and not one that says that the process failed.
  //   INVALID_ARGUMENT     a line of the file, the tokenizer, or its library isn't as
  //                        it should be; the program is no Python with evenpack
  //   FAILED_PRECONDITION  the process failed otherwise; it is the message's subject
  //   CANCELLED            interrupted
  absl::StatusOr<nlohmann::json> Next();
  // INVALID_ARGUMENT: the latest record isn't what it should be.
  absl::Status Refuse() const;
  // Next would not wait.
  bool IsReady() const;

 private:
  TokenizerProcess(std::string python, std::unique_ptr<ChildProcess> process)
      : python_(std::move(python)), process_(std::move(process)) {}
  absl::Status ReadLine();
  absl::Status Fill();
  absl::Status Ended();

  const std::string python_;
  const std::unique_ptr<ChildProcess> process_;
  std::string buffer_;
  size_t start_ = 0;       // of what was not given out, within the buffer
  std::string_view line_;  // the latest, within the buffer
  bool has_spoken_ = false;
};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_TOKENIZER_PROCESS_H_
