#include "client/cli/online/ingest_run.h"

#include <optional>
#include <utility>
#include <vector>

namespace evenpack {
namespace {

// Puts a document's value into a column that stays empty for as long as no document has
// one; `missing` gives what stands for it, by index.
template <typename T, typename Missing>
void AddToColumn(const std::optional<T>& value, size_t at, const Missing& missing,
                 std::vector<T>& column) {
  if (column.empty() && !value.has_value()) return;
  while (column.size() < at) column.push_back(missing(column.size()));
  column.push_back(value.has_value() ? *value : missing(at));
}

// Whether it says that a message was refused, rather than that the producer was cut
// short.
bool IsRefusal(const absl::Status& status) {
  return !status.ok() && !absl::IsCancelled(status) && !absl::IsUnavailable(status) &&
         !absl::IsDeadlineExceeded(status);
}

}  // namespace

// Documents on their way into one message.
class IngestRun::Columns {
 public:
  // `first_sequence` is that of the first document.
  explicit Columns(uint64_t first_sequence) : first_sequence_(first_sequence) {}

  void Add(const SourceDocument& document) {
    const size_t at = size();
    columns_.length.push_back(document.length);
    AddToColumn(
        document.id, at, [this](size_t i) { return first_sequence_ + i; }, columns_.id);
    AddToColumn(
        document.loss_tokens, at, [this](size_t i) { return columns_.length[i]; },
        columns_.loss_tokens);
    AddToColumn(
        document.source, at, [](size_t) { return uint32_t{0}; }, columns_.source);
  }
  size_t size() const { return columns_.length.size(); }
  const client::DocumentColumns& columns() const { return columns_; }

 private:
  const uint64_t first_sequence_;
  client::DocumentColumns columns_;
};

absl::Status IngestRun::Run(bool end_of_stream) {
  bool more = true;
  while (more) {
    Columns documents(next_);
    const absl::StatusOr<bool> read = Read(documents);
    if (absl::Status status = Send(documents.columns()); !status.ok()) return status;
    if (!read.ok()) {
      absl::Status flushed = Flush();
      return flushed.ok() ? read.status() : flushed;
    }
    more = *read;
    const DocumentSource::Progress progress = source_.progress();
    progress_.Update(progress.done, progress.total);
  }
  absl::Status status = Flush();
  if (!status.ok() || !end_of_stream) return status;
  status = producer_.EndOfStream();
  report_.ended = status.ok();
  return status;
}

IngestReport IngestRun::Report() {
  CountAccepted();
  if (!refused_) {
    report_.documents += std::exchange(resent_documents_, 0);
    report_.tokens += std::exchange(resent_tokens_, 0);
  }
  report_.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  return report_;
}

// Up to a message's documents, fewer where the next would have to be waited for, and
// those before an error. False at the end.
absl::StatusOr<bool> IngestRun::Read(Columns& documents) {
  while (documents.size() < batch_) {
    const absl::StatusOr<std::optional<SourceDocument>> document = source_.Next();
    if (!document.ok()) return document.status();
    if (!document->has_value()) return false;
    documents.Add(**document);
    if (!source_.IsReady()) break;
  }
  return true;
}

absl::Status IngestRun::Send(const client::DocumentColumns& documents) {
  if (documents.size() == 0) return absl::OkStatus();
  absl::Status status = producer_.Add(documents);
  refused_ = refused_ || IsRefusal(status);
  for (const uint32_t length : documents.length) {
    if (next_++ < had_before_) {
      ++resent_documents_;
      resent_tokens_ += length;
    } else {
      unaccepted_.push_back(length);
    }
  }
  CountAccepted();
  return status;
}

absl::Status IngestRun::Flush() {
  absl::Status status = producer_.Flush();
  refused_ = refused_ || IsRefusal(status);
  return status;
}

void IngestRun::CountAccepted() {
  report_.next_sequence = producer_.accepted_sequence();
  while (next_ - unaccepted_.size() < report_.next_sequence && !unaccepted_.empty()) {
    report_.tokens += unaccepted_.front();
    unaccepted_.pop_front();
    ++report_.documents;
  }
}

}  // namespace evenpack
