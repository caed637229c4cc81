// The policy `balanced` against a search that sees the whole stream, as JSON:
//   offline_reference LENGTHS DOCUMENTS N S_MAX MAX_DELAY OPERATIONS SEED
// Packs the first DOCUMENTS lengths of the file, shuffled by SEED unless that is 0, at
// window 131,072 and crossover 47,000, and moves documents between the steps that come
// of it (offline_search.h).
#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "client/cli/document_lengths.h"
#include "client/cli/document_stream.h"
#include "client/cli/job_flags.h"
#include "client/cli/pack_run.h"
#include "client/cli/progress_bar.h"
#include "tests/bench/balance/offline_search.h"

namespace evenpack {
namespace {

constexpr uint32_t kWindow = 131072;
constexpr uint64_t kCrossover = 47000;

struct Arguments {
  std::string lengths;
  uint64_t documents = 0;
  uint32_t micro_batches = 0;
  uint32_t max_length = 0;
  uint64_t max_delay = 0;
  uint64_t operations = 0;
  uint64_t seed = 0;
};

// What each step had admitted, and each document's batch and micro-batch.
struct EngineRun {
  std::vector<uint64_t> admitted;
  std::vector<uint64_t> batches;
  std::vector<PlacedDocument> documents;
  PackFigures figures;
};

absl::StatusOr<std::vector<uint32_t>> Lengths(const Arguments& arguments) {
  FeedFlags feed;
  feed.lengths = arguments.lengths;
  absl::StatusOr<DocumentLengths> read =
      ReadDocumentLengths(feed, arguments.max_length, /*split_overlong=*/false);
  if (!read.ok()) return read.status();
  std::vector<uint32_t> lengths = std::move(read->lengths);
  std::mt19937_64 generator(arguments.seed);
  for (size_t i = lengths.size() - 1; i > 0 && arguments.seed != 0; --i) {
    std::swap(lengths[i], lengths[DrawBelow(i + 1, generator)]);
  }
  lengths.resize(std::min<size_t>(lengths.size(), arguments.documents));
  return lengths;
}

absl::StatusOr<JobSpec> Spec(const Arguments& arguments) {
  JobFlags flags;
  flags.micro_batches = arguments.micro_batches;
  flags.window = kWindow;
  flags.max_length = arguments.max_length;
  flags.max_delay = arguments.max_delay;
  flags.cost = QuadraticCost{.crossover_tokens = kCrossover};
  return MakeJobSpec(flags, PolicyKind::kBalanced);
}

absl::StatusOr<EngineRun> Pack(const JobSpec& spec,
                               const std::vector<uint32_t>& lengths) {
  EngineRun run;
  StepHooks hooks;
  hooks.observe = [&](const StepDecided& decided) {
    for (const MicroBatch& micro_batch : decided.step.micro_batches) {
      const auto at =
          static_cast<uint32_t>(&micro_batch - decided.step.micro_batches.data());
      const auto first =
          static_cast<uint32_t>(run.admitted.size() * spec.micro_batches);
      for (const Document& document : micro_batch.documents) {
        run.documents.push_back({.length = document.length, .micro_batch = first + at});
        run.batches.push_back(document.batch);
      }
    }
    run.admitted.push_back(decided.batches_admitted);
    return absl::OkStatus();
  };
  DocumentStream stream(lengths, 1, 0);
  ProgressBar progress(nullptr, "");
  absl::StatusOr<PackFigures> figures =
      RunPack(spec, stream, std::nullopt, progress, hooks);
  if (!figures.ok()) return figures.status();
  run.figures = *std::move(figures);
  return run;
}

// From the step that admitted its batch to the last in which it waited no longer than
// the bound.
void SetBounds(uint64_t max_delay, EngineRun& run) {
  for (size_t i = 0; i < run.documents.size(); ++i) {
    const auto first =
        std::upper_bound(run.admitted.begin(), run.admitted.end(), run.batches[i]);
    const auto end =
        std::upper_bound(first, run.admitted.end(), run.batches[i] + max_delay + 1);
    run.documents[i].first_step = static_cast<uint32_t>(first - run.admitted.begin());
    run.documents[i].last_step = static_cast<uint32_t>(end - run.admitted.begin() - 1);
  }
}

double TokenDelay(const EngineRun& run, const std::vector<PlacedDocument>& documents,
                  size_t micro_batches) {
  double tokens = 0;
  double delays = 0;
  for (size_t i = 0; i < documents.size(); ++i) {
    const uint64_t admitted = run.admitted[documents[i].micro_batch / micro_batches];
    tokens += documents[i].length;
    delays += static_cast<double>(admitted - 1 - run.batches[i]) * documents[i].length;
  }
  return delays / tokens;
}

// The least that any step sequence could take: all work, evenly.
double EvenNs(const std::vector<uint32_t>& lengths, const JobSpec& spec) {
  double sum = 0;
  for (const uint32_t length : lengths) {
    sum += static_cast<double>(spec.workload.AttentionNs(length) +
                               spec.workload.LinearNs(length));
  }
  return sum / spec.micro_batches;
}

absl::Status Compare(const Arguments& arguments) {
  const absl::StatusOr<std::vector<uint32_t>> lengths = Lengths(arguments);
  if (!lengths.ok()) return lengths.status();
  const absl::StatusOr<JobSpec> spec = Spec(arguments);
  if (!spec.ok()) return spec.status();
  absl::StatusOr<EngineRun> run = Pack(*spec, *lengths);
  if (!run.ok()) return run.status();
  SetBounds(arguments.max_delay, *run);
  OfflineSearch search(
      run->documents,
      {arguments.micro_batches, arguments.max_length, run->admitted.size()},
      spec->workload, arguments.seed);
  if (!search.IsWithinBounds()) {
    return absl::InternalError("the engine's steps break a bound");
  }
  const double even = EvenNs(*lengths, *spec);
  const auto balanced = static_cast<double>(search.SumOfHeaviest());
  search.Run(arguments.operations);
  if (!search.IsWithinBounds()) return absl::InternalError("the search broke a bound");
  const auto offline = static_cast<double>(search.SumOfHeaviest());
  const size_t n = arguments.micro_batches;
  absl::PrintF(
      "{\"steps\": %d, \"even_seconds\": %.6f, \"balanced_seconds\": %.6f, "
      "\"offline_seconds\": %.6f, \"undrained_excess\": %.6f, \"balanced_delay\": "
      "%.4f, \"offline_delay\": %.4f}\n",
      run->admitted.size(), even / 1e9, balanced / 1e9, offline / 1e9,
      run->figures.imbalance_weighted_all.value_or(1) - 1,
      TokenDelay(*run, run->documents, n), TokenDelay(*run, search.documents(), n));
  return absl::OkStatus();
}

bool Read(char** values, Arguments& arguments) {
  arguments.lengths = values[1];
  return absl::SimpleAtoi(values[2], &arguments.documents) &&
         absl::SimpleAtoi(values[3], &arguments.micro_batches) &&
         absl::SimpleAtoi(values[4], &arguments.max_length) &&
         absl::SimpleAtoi(values[5], &arguments.max_delay) &&
         absl::SimpleAtoi(values[6], &arguments.operations) &&
         absl::SimpleAtoi(values[7], &arguments.seed);
}

}  // namespace
}  // namespace evenpack

int main(int argc, char** argv) {
  evenpack::Arguments arguments;
  if (argc != 8 || !evenpack::Read(argv, arguments)) {
    std::fputs(
        "usage: offline_reference LENGTHS DOCUMENTS N S_MAX MAX_DELAY OPERATIONS "
        "SEED\n",
        stderr);
    return 2;
  }
  const absl::Status status = evenpack::Compare(arguments);
  if (status.ok()) return 0;
  std::fprintf(stderr, "offline_reference: %s\n", status.ToString().c_str());
  return 1;
}
