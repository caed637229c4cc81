// Sends all documents of a source to one stream, and counts what was accepted.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_INGEST_RUN_H_
#define EVENPACK_CLIENT_CLI_ONLINE_INGEST_RUN_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/online/document_source.h"
#include "client/cli/progress_bar.h"
#include "client/cpp/producer.h"

namespace evenpack {

struct IngestReport {
  // Of the source, those that the stream now has. Where a message was refused, those
  // that it had before don't count: it may be one of them. Nor do those passed over.
  uint64_t documents = 0;
  uint64_t tokens = 0;
  // The server has all documents of the stream below this number.
  uint64_t next_sequence = 0;
  bool ended = false;
  double seconds = 0;

  double documents_per_second() const {
    return seconds > 0 ? static_cast<double>(documents) / seconds : 0;
  }
};

// Not thread-safe; used once.
class IngestRun {
 public:
  // All must outlive the run. `producer` is new, and its first document has the number
  // `from_sequence`. `batch`: documents of a message, at most.
  IngestRun(uint64_t from_sequence, size_t batch, DocumentSource& source,
            client::Producer& producer, ProgressBar& progress)
      : batch_(batch),
        source_(source),
        producer_(producer),
        progress_(progress),
        had_before_(producer.accepted_sequence()),
        next_(from_sequence) {}

  // OK once everything is accepted and, if that is wished, the stream has ended. Where
  // the source fails, what it gave before is accepted first. Else the producer's error.
  absl::Status Run(bool end_of_stream);
  // After Run, however that ended.
  IngestReport Report();

 private:
  class Columns;

  absl::StatusOr<bool> Read(Columns& documents);
  absl::Status Send(const client::DocumentColumns& documents);
  absl::Status Flush();
  void CountAccepted();

  const size_t batch_;
  DocumentSource& source_;
  client::Producer& producer_;
  ProgressBar& progress_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const uint64_t had_before_;        // the stream had the documents below it
  uint64_t next_;                    // number of the next document
  std::deque<uint32_t> unaccepted_;  // lengths of documents that were sent
  bool refused_ = false;             // the server refused a message
  uint64_t resent_documents_ = 0;    // that the stream had before
  uint64_t resent_tokens_ = 0;
  IngestReport report_;
};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_INGEST_RUN_H_
