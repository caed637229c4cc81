#include <cstddef>
#include <cstdint>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "client/cpp/producer.h"
#include "client/cpp/token_ids.h"
#include "server/core/document/document.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/request_limits.h"

namespace evenpack::client {
namespace {

// A message is below 2^31 bytes.
constexpr size_t kMaxBatchTokenBytes = size_t{1} << 30;
constexpr size_t kMaxTokenIds = kMaxBatchTokenBytes / kTokenIdBytes;

template <typename Value>
absl::Status CheckColumn(absl::string_view name, const std::vector<Value>& column,
                         size_t documents) {
  if (column.empty() || column.size() == documents) return absl::OkStatus();
  return InvalidField(
      name, absl::StrCat(column.size(), " entries"),
      absl::StrCat("none, or one for each of ", documents, " documents"));
}

// `which`: what comes with the documents.
absl::Status CheckLengthsByValue(const DocumentColumns& documents,
                                 absl::string_view which) {
  for (size_t i = 0; i < documents.size(); ++i) {
    if (documents.length[i] > kMaxTokenIds) {
      return InvalidField(absl::StrCat("length[", i, "]"), documents.length[i],
                          absl::StrCat("1 to ", kMaxTokenIds, " where ", which));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTokenIds(const DocumentColumns& documents) {
  if (documents.token_ids.empty()) return absl::OkStatus();
  absl::Status status = CheckLengthsByValue(documents, "token_ids come along");
  if (!status.ok()) return status;
  const uint64_t tokens =
      std::accumulate(documents.length.begin(), documents.length.end(), uint64_t{0});
  if (documents.token_ids.size() == tokens) return absl::OkStatus();
  return InvalidField("token_ids", absl::StrCat(documents.token_ids.size(), " entries"),
                      absl::StrCat("none, or ", tokens, ", the sum of length"));
}

absl::Status CheckTokenFile(const DocumentColumns& documents) {
  const TokenFileColumns& file = documents.token_file;
  if (file.path.empty() && file.offset.empty()) return absl::OkStatus();
  if (!file.path.starts_with('/')) {
    return InvalidField("token_file.path", absl::StrCat("'", file.path, "'"),
                        "an absolute path on the server's machine");
  }
  if (file.token_bytes != 2 && file.token_bytes != 4) {
    return InvalidField("token_file.token_bytes", file.token_bytes, "2 or 4");
  }
  if (file.offset.size() != documents.size()) {
    return InvalidField(
        "token_file.offset", absl::StrCat(file.offset.size(), " entries"),
        absl::StrCat("one for each of ", documents.size(), " documents"));
  }
  if (!documents.token_ids.empty()) {
    return InvalidField("token_ids",
                        absl::StrCat(documents.token_ids.size(), " entries"),
                        "none where a token_file is given");
  }
  return CheckLengthsByValue(documents, "a token_file is given");
}

// Of what is not accepted yet: at least what one message has.
absl::Status CheckUnaccepted(absl::string_view name, size_t value,
                             absl::string_view of_message, size_t least) {
  if (value >= least) return absl::OkStatus();
  return InvalidField(name, value, absl::StrCat("at least ", of_message, ", ", least));
}

}  // namespace

absl::Status Validate(const ProducerOptions& options) {
  if (options.job.empty()) return InvalidField("job", "''", "the name of a job");
  if (options.stream.empty()) {
    return InvalidField("stream", "''", "the name of one of the job's streams");
  }
  absl::Status status =
      CheckRange("batch_documents", options.batch_documents, 1, kMaxBatchDocuments);
  status.Update(CheckUnaccepted("max_unaccepted_documents",
                                options.max_unaccepted_documents, "batch_documents",
                                options.batch_documents));
  status.Update(CheckRange("batch_token_bytes", options.batch_token_bytes,
                           kTokenIdBytes, kMaxBatchTokenBytes));
  status.Update(CheckUnaccepted("max_unaccepted_token_bytes",
                                options.max_unaccepted_token_bytes, "batch_token_bytes",
                                options.batch_token_bytes));
  return status;
}

absl::Status Validate(const DocumentColumns& documents) {
  const size_t count = documents.size();
  absl::Status status = CheckColumn("id", documents.id, count);
  status.Update(CheckColumn("loss_tokens", documents.loss_tokens, count));
  status.Update(CheckColumn("source", documents.source, count));
  if (!status.ok()) return status;
  for (size_t i = 0; i < count; ++i) {
    if (const uint32_t length = documents.length[i];
        length < 1 || length > kMaxDocumentLength) {
      return InvalidField(absl::StrCat("length[", i, "]"), length,
                          absl::StrCat("1 to ", kMaxDocumentLength));
    }
  }
  for (size_t i = 0; i < documents.loss_tokens.size(); ++i) {
    if (documents.loss_tokens[i] > documents.length[i]) {
      return InvalidField(
          absl::StrCat("loss_tokens[", i, "]"), documents.loss_tokens[i],
          absl::StrCat("0 to ", documents.length[i], ", the document's length"));
    }
  }
  status.Update(CheckTokenFile(documents));
  status.Update(CheckTokenIds(documents));
  return status;
}

}  // namespace evenpack::client
