#include "gpu_worker/cudnn/task_sequences.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "gpu_worker/communicator/row_copies.h"

namespace evenpack::worker {
namespace {

// All of the slice's queries and keys.
Sequence WholeOf(const AttentionTask& task) {
  const KeyRun& keys = task.keys.front();
  Sequence sequence;
  sequence.query_row = static_cast<int64_t>(task.query_row);
  sequence.queries = task.end - task.begin;
  sequence.key_row = static_cast<int64_t>(keys.row);
  sequence.keys = keys.count;
  return sequence;
}

// Indexes of tasks, so that no two of a group are of one document: slices of one
// document see the same keys.
std::vector<std::vector<size_t>> WithoutSharedKeys(
    std::span<const AttentionTask> tasks) {
  absl::flat_hash_map<uint32_t, size_t> slices_before;
  slices_before.reserve(tasks.size());
  std::vector<std::vector<size_t>> groups;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const size_t group = slices_before[tasks[i].document]++;
    if (group == groups.size()) groups.emplace_back();
    groups[group].push_back(i);
  }
  return groups;
}

void Split(const Sequence& whole, BackwardSequences& sequences) {
  Sequence own = whole;
  const int64_t keys_before = whole.keys - whole.queries;
  own.keys = whole.queries;
  own.key_row += keys_before;
  own.key_gradient_row += keys_before;
  sequences.own.push_back(own);
  if (keys_before == 0) return;
  Sequence before = whole;
  before.keys = keys_before;
  sequences.before.push_back(before);
  const auto row = static_cast<uint64_t>(whole.query_row);
  sequences.query_gradients.push_back({row, row, static_cast<uint64_t>(whole.queries)});
  sequences.query_gradient_rows =
      std::max(sequences.query_gradient_rows, whole.query_row + whole.queries);
}

}  // namespace

absl::Status CheckKeys(std::span<const AttentionTask> tasks) {
  for (const AttentionTask& task : tasks) {
    const auto refused = [&task](const std::string& where) {
      return absl::InvalidArgumentError(
          absl::StrCat("the keys of document ", task.document, " that its queries ",
                       task.begin, " to ", task.end - 1, " see are in ", where));
    };
    if (task.keys.size() != 1) {
      return refused(
          absl::StrCat(task.keys.size(), " runs of rows; accepted: one run"));
    }
    if (task.keys.front().received != tasks.front().keys.front().received) {
      return refused(
          "another tensor than those of other slices; accepted: all among the rank's "
          "own keys, or all among the received ones");
    }
  }
  return absl::OkStatus();
}

std::vector<Sequence> ForwardSequences(std::span<const AttentionTask> tasks) {
  std::vector<Sequence> sequences;
  sequences.reserve(tasks.size());
  for (const AttentionTask& task : tasks) sequences.push_back(WholeOf(task));
  return sequences;
}

BackwardSequences BackwardSequencesOf(std::span<const AttentionTask> tasks,
                                      bool has_window, int64_t split_from) {
  BackwardSequences sequences;
  sequences.own.reserve(tasks.size());
  sequences.masked.reserve(tasks.size());
  for (const std::vector<size_t>& group : WithoutSharedKeys(tasks)) {
    std::vector<RowMove>& added = sequences.key_gradients.emplace_back();
    added.reserve(group.size());
    for (const size_t i : group) {
      Sequence whole = WholeOf(tasks[i]);
      whole.key_gradient_row = sequences.key_gradient_rows;
      added.push_back({static_cast<uint64_t>(whole.key_gradient_row),
                       static_cast<uint64_t>(whole.key_row),
                       static_cast<uint64_t>(whole.keys)});
      sequences.key_gradient_rows += whole.keys;
      const bool has_keys_before = whole.keys > whole.queries;
      if (has_window || (has_keys_before && whole.queries < split_from)) {
        sequences.masked.push_back(whole);
      } else {
        Split(whole, sequences);
      }
    }
    SortByTo(added);
  }
  return sequences;
}

}  // namespace evenpack::worker
