#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/cpp/producer.h"
#include "server/core/document/document.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::client {
namespace {

constexpr size_t kMaxBatchDocuments = 1'048'576;

template <typename Value>
absl::Status CheckColumn(absl::string_view name, const std::vector<Value>& column,
                         size_t documents) {
  if (column.empty() || column.size() == documents) return absl::OkStatus();
  return InvalidField(
      name, absl::StrCat(column.size(), " entries"),
      absl::StrCat("none, or one for each of ", documents, " documents"));
}

}  // namespace

absl::Status Validate(const ProducerOptions& options) {
  if (options.job.empty()) return InvalidField("job", "''", "the name of a job");
  if (options.stream.empty()) {
    return InvalidField("stream", "''", "the name of one of the job's streams");
  }
  absl::Status status =
      CheckRange("batch_documents", options.batch_documents, 1, kMaxBatchDocuments);
  if (status.ok() && options.max_unaccepted_documents < options.batch_documents) {
    return InvalidField(
        "max_unaccepted_documents", options.max_unaccepted_documents,
        absl::StrCat("at least batch_documents, ", options.batch_documents));
  }
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
  return absl::OkStatus();
}

}  // namespace evenpack::client
