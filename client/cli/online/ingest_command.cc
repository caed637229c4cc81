#include "client/cli/online/ingest_command.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/json_text.h"
#include "client/cli/online/document_source.h"
#include "client/cli/online/ingest_run.h"
#include "client/cli/online/jobs_commands.h"
#include "client/cli/progress_bar.h"
#include "client/cli/quoted_value.h"
#include "client/cli/text_table.h"

namespace evenpack {
namespace {

constexpr FlagReader::Range kBatch = {1, 1U << 20U};

struct IngestFlags {
  client::ProducerOptions producer;
  uint64_t from_sequence = 0;
  bool end_of_stream = false;
  bool json = false;
};

absl::StatusOr<IngestFlags> ReadIngestFlags(const FlagValues& values) {
  FlagReader reader(values);
  IngestFlags flags;
  client::ProducerOptions& producer = flags.producer;
  producer.job = reader.Text("--job", "the job's name");
  producer.stream = reader.Text("--stream", "a stream of the job", kDefaultStream);
  flags.from_sequence = reader.Integer("--from-sequence", kAnyNumber, 0);
  producer.from_sequence = flags.from_sequence;
  producer.batch_documents = reader.Integer("--batch", kBatch, 1024);
  producer.max_unaccepted_documents =
      std::max(producer.max_unaccepted_documents, producer.batch_documents);
  flags.end_of_stream = IsGiven(values, "--end-of-stream");
  flags.json = IsGiven(values, "--json");
  if (!reader.status().ok()) return reader.status();
  return flags;
}

std::string ReportJson(const IngestFlags& flags, const IngestReport& report) {
  const Json json = {{"job", flags.producer.job},
                     {"stream", flags.producer.stream},
                     {"documents", report.documents},
                     {"tokens", report.tokens},
                     {"next_sequence", report.next_sequence},
                     {"ended", report.ended},
                     {"seconds", report.seconds},
                     {"documents_per_second", report.documents_per_second()}};
  return JsonLine(json);
}

std::string ReportText(const IngestFlags& flags, const IngestReport& report) {
  return absl::StrFormat(
      "%s/%s: %s documents, %s tokens accepted in %.3f s (%s documents/s); next "
      "sequence number %d%s\n",
      flags.producer.job, flags.producer.stream, Grouped(report.documents),
      Grouped(report.tokens), report.seconds,
      Grouped(static_cast<uint64_t>(report.documents_per_second())),
      report.next_sequence, report.ended ? ", stream ended" : "");
}

// Passes over what the stream has, where the source wants that; the sequence number of
// the next document.
absl::StatusOr<uint64_t> PassOver(const IngestFlags& flags,
                                  const client::Producer& producer,
                                  DocumentSource& source, Output& err) {
  if (!source.skips()) return flags.from_sequence;
  const uint64_t next = producer.next_sequence();
  const std::string stream = QuotedValue(flags.producer.stream);
  if (flags.from_sequence > next) {
    return absl::OutOfRangeError(absl::StrCat(
        "from_sequence: ", flags.from_sequence, " leaves a gap in stream ", stream,
        "; accepted: at most ", next, ", the number of its next document"));
  }
  const uint64_t had = next - flags.from_sequence;
  const absl::StatusOr<uint64_t> skipped = source.Skip(had);
  if (!skipped.ok()) return skipped.status();
  if (*skipped > 0) {
    err.Write(absl::StrCat("evenpackctl: note: documents that stream ", stream,
                           " has already, passed over: ", *skipped, "\n"));
  }
  if (*skipped < had && flags.end_of_stream) {
    return absl::OutOfRangeError(absl::StrCat(
        "documents: ", flags.from_sequence + *skipped, " is not how many stream ",
        stream, " has; accepted: ", next, ", the number accepted so far"));
  }
  return next;
}

}  // namespace

absl::Status RunIngest(const FlagValues& values, const OnlineContext& context) {
  const absl::StatusOr<IngestFlags> flags = ReadIngestFlags(values);
  if (!flags.ok()) return flags.status();
  const absl::StatusOr<std::unique_ptr<DocumentSource>> source =
      OpenDocumentSource(values, context.interrupt);
  if (!source.ok()) return source.status();
  context.err.Write((*source)->note());
  absl::StatusOr<client::Client> client = Connect(values, context);
  if (!client.ok()) return client.status();
  const SignalGuard guard(context.interrupt);
  client::ProducerOptions options = flags->producer;
  if ((*source)->skips()) options.from_sequence.reset();
  const absl::StatusOr<std::unique_ptr<client::Producer>> producer =
      client->OpenProducer(options);
  if (!producer.ok()) return producer.status();
  absl::Status status;
  IngestReport report;
  {
    const InterruptWatch watch(context.interrupt,
                               [&producer] { (*producer)->Cancel(); });
    ProgressBar progress(context.terminal, "sending");
    const absl::StatusOr<uint64_t> first =
        PassOver(*flags, **producer, **source, context.err);
    IngestRun run(first.value_or(flags->from_sequence), options.batch_documents,
                  **source, **producer, progress);
    status = first.ok() ? run.Run(flags->end_of_stream) : first.status();
    report = run.Report();
  }
  context.out.Write(flags->json ? ReportJson(*flags, report)
                                : ReportText(*flags, report));
  return status;
}

}  // namespace evenpack
