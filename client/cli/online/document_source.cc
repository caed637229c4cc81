#include "client/cli/online/document_source.h"

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/cli/document_lengths.h"
#include "client/cli/document_stream.h"
#include "client/cli/job_flags.h"
#include "client/cli/lengths_file.h"
#include "client/cli/online/jsonl_flags.h"
#include "client/cli/online/jsonl_source.h"
#include "client/cli/online/tokenizer_source.h"

namespace evenpack {
namespace {

constexpr std::array<const char*, 2> kPassFlags = {"--repeat", "--seed"};

// One pass over a file of any size.
class LengthsSource : public DocumentSource {
 public:
  LengthsSource(LengthsReader reader, std::string note)
      : reader_(std::move(reader)), note_(std::move(note)) {}

  absl::StatusOr<std::optional<SourceDocument>> Next() override {
    const absl::StatusOr<std::optional<uint32_t>> length = reader_.Next();
    if (!length.ok()) return length.status();
    if (!length->has_value()) return std::nullopt;
    return SourceDocument{**length, {}, {}, {}};
  }
  bool IsReady() const override { return reader_.lines().IsReady(); }
  Progress progress() const override {
    return {reader_.lines().file().position(), reader_.lines().file().size()};
  }
  std::string note() const override { return note_; }

 private:
  LengthsReader reader_;
  const std::string note_;
};

// A dataset's index, or several passes: the lengths in memory.
class RepeatedSource : public DocumentSource {
 public:
  RepeatedSource(DocumentLengths documents, uint64_t passes, uint64_t seed)
      : documents_(std::move(documents)), stream_(documents_.lengths, passes, seed) {}

  absl::StatusOr<std::optional<SourceDocument>> Next() override {
    if (stream_.AtEnd()) return std::nullopt;
    return SourceDocument{stream_.Next(), {}, {}, {}};
  }
  bool IsReady() const override { return true; }
  Progress progress() const override { return {stream_.position(), stream_.total()}; }
  std::string note() const override { return documents_.note; }

 private:
  const DocumentLengths documents_;
  DocumentStream stream_;
};

absl::StatusOr<std::unique_ptr<DocumentSource>> OpenLengths(
    const FlagValues& values, const Interrupt& interrupt) {
  const absl::StatusOr<FeedFlags> feed = ReadFeedFlags(values);
  if (!feed.ok()) return feed.status();
  if (feed->passes == 1 && feed->index.empty()) {
    absl::StatusOr<LengthsReader> reader = LengthsReader::Open(feed->lengths);
    if (!reader.ok()) return reader.status();
    reader->lines().file().StopOn(interrupt);
    return std::make_unique<LengthsSource>(*std::move(reader),
                                           UnusedFlagsNote(UnusedFeedFlags(values)));
  }
  absl::StatusOr<DocumentLengths> documents = ReadDocumentLengths(*feed);
  if (!documents.ok()) return documents.status();
  return std::make_unique<RepeatedSource>(*std::move(documents), feed->passes,
                                          feed->seed);
}

absl::StatusOr<std::unique_ptr<DocumentSource>> OpenJsonl(const FlagValues& values,
                                                          const Interrupt& interrupt) {
  absl::StatusOr<JsonlFlags> flags = ReadJsonlFlags(values);
  if (!flags.ok()) return flags.status();
  if (!flags->tokenizer.has_value()) {
    return OpenJsonlSource(flags->path, std::move(flags->fields), interrupt);
  }
  return OpenTokenizerSource(flags->path, *std::move(flags->tokenizer),
                             std::move(flags->fields), interrupt);
}

// A flag of the other kind of file would have no effect.
absl::Status RefuseFlags(const FlagValues& values, std::span<const char* const> flags,
                         const char* file) {
  for (const char* const flag : flags) {
    if (!IsGiven(values, flag)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        flag, " together with ", file, " is not accepted; it has no effect there"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<DocumentSource>> OpenDocumentSource(
    const FlagValues& values, const Interrupt& interrupt) {
  std::vector<const char*> given;
  for (const char* const flag : {"--lengths", "--idx", "--jsonl"}) {
    if (IsGiven(values, flag)) given.push_back(flag);
  }
  if (given.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        given.empty()
            ? "--lengths is missing"
            : absl::StrCat(given[0], " together with ", given[1], " is not accepted"),
        "; accepted: one of --lengths FILE, --idx PREFIX and --jsonl FILE"));
  }
  if (given[0] != absl::string_view("--jsonl")) {
    absl::Status status = RefuseFlags(values, JsonlFlagNames(), given[0]);
    if (!status.ok()) return status;
    return OpenLengths(values, interrupt);
  }
  absl::Status status = RefuseFlags(values, kPassFlags, "--jsonl");
  if (!status.ok()) return status;
  return OpenJsonl(values, interrupt);
}

}  // namespace evenpack
