#include "gpu_worker/cudnn/task_sequences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::Draw;
using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

// Keys from the document's first on, at `key_row`.
AttentionTask SliceOf(uint32_t document, uint32_t begin, uint32_t end,
                      uint64_t query_row, uint64_t key_row, bool received = false) {
  AttentionTask task;
  task.document = document;
  task.begin = begin;
  task.end = end;
  task.query_row = query_row;
  task.keys = {{0, end, key_row, received}};
  return task;
}

TEST(CheckKeysTest, AcceptsOneRunEachInOneTensor) {
  for (const bool received : {false, true}) {
    const std::vector<AttentionTask> tasks = {SliceOf(0, 0, 5, 0, 0, received),
                                              SliceOf(1, 3, 9, 5, 70, received)};
    EXPECT_THAT(CheckKeys(tasks), IsOk());
  }
  EXPECT_THAT(CheckKeys({}), IsOk());
}

TEST(CheckKeysTest, RefusesKeysInTwoRuns) {
  for (const size_t place : {0U, 1U}) {
    std::vector<AttentionTask> tasks = {SliceOf(6, 0, 5, 0, 0), SliceOf(7, 0, 5, 5, 5)};
    AttentionTask& task = tasks[place];
    task = SliceOf(3, 10, 20, 5, 5);
    task.keys = {{0, 15, 5, false}, {15, 5, 40, false}};
    EXPECT_THAT(
        CheckKeys(tasks),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 AllOf(HasSubstr("document 3"), HasSubstr("queries 10 to 19"),
                       HasSubstr("in 2 runs of rows"), HasSubstr("accepted: one run"))))
        << place;
  }
}

TEST(CheckKeysTest, RefusesOwnKeysBesideReceivedOnes) {
  for (const bool received : {false, true}) {
    const std::vector<AttentionTask> tasks = {SliceOf(3, 0, 5, 0, 0, received),
                                              SliceOf(4, 2, 8, 5, 5, !received)};
    EXPECT_THAT(
        CheckKeys(tasks),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 AllOf(HasSubstr("document 4"), HasSubstr("queries 2 to 7"),
                       HasSubstr("in another tensor than those of other slices"))));
  }
}

TEST(ForwardSequencesTest, EachSliceIsOne) {
  const std::vector<AttentionTask> tasks = {SliceOf(0, 0, 5, 3, 100),
                                            SliceOf(1, 20, 32, 9, 0)};
  EXPECT_THAT(ForwardSequences(tasks),
              ElementsAre(Sequence{3, 5, 100, 5, 0}, Sequence{9, 12, 0, 32, 0}));
  EXPECT_THAT(ForwardSequences({}), IsEmpty());
}

TEST(BackwardSequencesTest, WholeDocumentsSeeTheirOwnKeysAlone) {
  const std::vector<AttentionTask> tasks = {SliceOf(0, 0, 5, 0, 100),
                                            SliceOf(1, 0, 2000, 5, 105)};
  const BackwardSequences sequences = BackwardSequencesOf(tasks, false, 1024);
  EXPECT_THAT(sequences.own,
              ElementsAre(Sequence{0, 5, 100, 5, 0}, Sequence{5, 2000, 105, 2000, 5}));
  EXPECT_THAT(sequences.before, IsEmpty());
  EXPECT_THAT(sequences.masked, IsEmpty());
  EXPECT_THAT(sequences.query_gradients, IsEmpty());
  EXPECT_EQ(sequences.query_gradient_rows, 0);
  EXPECT_THAT(sequences.key_gradients,
              ElementsAre(ElementsAre(RowMove{0, 100, 5}, RowMove{5, 105, 2000})));
  EXPECT_EQ(sequences.key_gradient_rows, 2005);
}

TEST(BackwardSequencesTest, ALongSliceIsSplitAtItsFirstQuery) {
  const std::vector<AttentionTask> tasks = {SliceOf(0, 300, 1400, 10, 50)};
  const BackwardSequences sequences = BackwardSequencesOf(tasks, false, 1100);
  EXPECT_THAT(sequences.own, ElementsAre(Sequence{10, 1100, 350, 1100, 300}));
  EXPECT_THAT(sequences.before, ElementsAre(Sequence{10, 1100, 50, 300, 0}));
  EXPECT_THAT(sequences.masked, IsEmpty());
  EXPECT_THAT(sequences.query_gradients, ElementsAre(RowMove{10, 10, 1100}));
  EXPECT_EQ(sequences.query_gradient_rows, 1110);
  EXPECT_THAT(sequences.key_gradients, ElementsAre(ElementsAre(RowMove{0, 50, 1400})));
  EXPECT_EQ(sequences.key_gradient_rows, 1400);
}

TEST(BackwardSequencesTest, AShortSliceIsMasked) {
  const std::vector<AttentionTask> tasks = {SliceOf(0, 300, 1400, 10, 50)};
  const BackwardSequences sequences = BackwardSequencesOf(tasks, false, 1101);
  EXPECT_THAT(sequences.own, IsEmpty());
  EXPECT_THAT(sequences.before, IsEmpty());
  EXPECT_THAT(sequences.masked, ElementsAre(Sequence{10, 1100, 50, 1400, 0}));
  EXPECT_THAT(sequences.query_gradients, IsEmpty());
  EXPECT_EQ(sequences.query_gradient_rows, 0);
  EXPECT_THAT(sequences.key_gradients, ElementsAre(ElementsAre(RowMove{0, 50, 1400})));
}

TEST(BackwardSequencesTest, AnySliceWithAWindowIsMasked) {
  std::vector<AttentionTask> tasks = {SliceOf(0, 0, 2000, 0, 0),
                                      SliceOf(1, 300, 1400, 2000, 5000)};
  // A window of 200.
  tasks[1].keys = {{101, 1299, 5000, false}};
  const BackwardSequences sequences = BackwardSequencesOf(tasks, true, 1);
  EXPECT_THAT(sequences.own, IsEmpty());
  EXPECT_THAT(sequences.before, IsEmpty());
  EXPECT_THAT(sequences.masked, ElementsAre(Sequence{0, 2000, 0, 2000, 0},
                                            Sequence{2000, 1100, 5000, 1299, 2000}));
}

TEST(BackwardSequencesTest, SlicesOfOneDocumentAreInDifferentSums) {
  const std::vector<AttentionTask> tasks = {
      SliceOf(0, 0, 4, 0, 0), SliceOf(1, 0, 3, 4, 16), SliceOf(0, 12, 16, 7, 0),
      SliceOf(2, 5, 6, 11, 19)};
  const BackwardSequences sequences = BackwardSequencesOf(tasks, false, 4);
  EXPECT_THAT(
      sequences.key_gradients,
      ElementsAre(ElementsAre(RowMove{0, 0, 4}, RowMove{4, 16, 3}, RowMove{7, 19, 6}),
                  ElementsAre(RowMove{13, 0, 16})));
  EXPECT_EQ(sequences.key_gradient_rows, 29);
  EXPECT_THAT(sequences.own,
              ElementsAre(Sequence{0, 4, 0, 4, 0}, Sequence{4, 3, 16, 3, 4},
                          Sequence{7, 4, 12, 4, 25}));
  EXPECT_THAT(sequences.before, ElementsAre(Sequence{7, 4, 0, 12, 13}));
  EXPECT_THAT(sequences.masked, ElementsAre(Sequence{11, 1, 19, 6, 7}));
}

TEST(BackwardSequencesTest, NoSlicesAreNoSequences) {
  const BackwardSequences sequences = BackwardSequencesOf({}, false, 1);
  EXPECT_THAT(sequences.own, IsEmpty());
  EXPECT_THAT(sequences.before, IsEmpty());
  EXPECT_THAT(sequences.masked, IsEmpty());
  EXPECT_THAT(sequences.key_gradients, IsEmpty());
  EXPECT_EQ(sequences.key_gradient_rows, 0);
}

// Some slices of some documents, whose keys lie document after document.
std::vector<AttentionTask> DrawTasks(std::mt19937_64& random,
                                     const AttentionShape& shape) {
  constexpr uint64_t kKeysApart = 200;
  std::vector<AttentionTask> tasks;
  std::vector<uint32_t> next(Draw(random, 1, 5));
  uint64_t query_row = 0;
  for (int round = 0; round < 3; ++round) {
    for (uint32_t document = 0; document < next.size(); ++document) {
      if (Draw(random, 0, 2) == 0) continue;
      const uint32_t begin = next[document] + Draw(random, 0, 1) * Draw(random, 1, 10);
      const uint32_t end = begin + Draw(random, 1, 25);
      AttentionTask task = SliceOf(document, begin, end, query_row, 0);
      const uint32_t first = shape.FirstKey(begin);
      task.keys = {{first, end - first, kKeysApart * document + first, false}};
      tasks.push_back(task);
      query_row += end - begin;
      query_row += Draw(random, 0, 2);
      next[document] = end;
    }
  }
  return tasks;
}

// How often a query's row is held against a key's.
using RowPairs = std::map<std::pair<int64_t, int64_t>, int>;

RowPairs SeenIn(const std::vector<AttentionTask>& tasks, const AttentionShape& shape) {
  RowPairs pairs;
  for (const AttentionTask& task : tasks) {
    const KeyRun& keys = task.keys.front();
    for (uint32_t position = task.begin; position < task.end; ++position) {
      const uint64_t query_row = task.query_row + (position - task.begin);
      for (uint32_t key = shape.FirstKey(position); key <= position; ++key) {
        ++pairs[{static_cast<int64_t>(query_row),
                 static_cast<int64_t>(keys.row + (key - keys.position))}];
      }
    }
  }
  return pairs;
}

// By the masks that runs of the sequences have.
RowPairs SeenIn(const BackwardSequences& sequences, const AttentionShape& shape) {
  RowPairs pairs;
  const auto add = [&pairs](const Sequence& of, int64_t query, int64_t begin,
                            int64_t end) {
    for (int64_t key = begin; key < end; ++key) {
      ++pairs[{of.query_row + query, of.key_row + key}];
    }
  };
  for (const Sequence& of : sequences.own) {
    EXPECT_EQ(of.keys, of.queries);
    for (int64_t i = 0; i < of.queries; ++i) add(of, i, 0, i + 1);
  }
  for (const Sequence& of : sequences.before) {
    for (int64_t i = 0; i < of.queries; ++i) add(of, i, 0, of.keys);
  }
  const int64_t window = shape.sliding_window;
  for (const Sequence& of : sequences.masked) {
    for (int64_t i = 0; i < of.queries; ++i) {
      const int64_t end = of.keys - of.queries + i + 1;
      add(of, i, window == 0 ? 0 : std::max<int64_t>(0, end - window), end);
    }
  }
  return pairs;
}

// Rows of the runs' gradients, each of which is written once, and their keys' own.
std::map<int64_t, int64_t> WrittenKeys(const BackwardSequences& sequences) {
  std::map<int64_t, int64_t> written;
  for (const auto* of_mask : {&sequences.own, &sequences.before, &sequences.masked}) {
    for (const Sequence& of : *of_mask) {
      for (int64_t i = 0; i < of.keys; ++i) {
        EXPECT_TRUE(written.emplace(of.key_gradient_row + i, of.key_row + i).second)
            << "written twice: " << of.key_gradient_row + i;
      }
    }
  }
  return written;
}

// They are added to these once.
void ExpectSumsOfKeys(const BackwardSequences& sequences) {
  const std::map<int64_t, int64_t> written = WrittenKeys(sequences);
  std::map<int64_t, int64_t> added;
  for (const std::vector<RowMove>& sum : sequences.key_gradients) {
    std::set<uint64_t> rows;
    for (const RowMove& move : sum) {
      for (uint64_t i = 0; i < move.count; ++i) {
        EXPECT_TRUE(rows.insert(move.to + i).second)
            << "twice in one sum: " << move.to + i;
        EXPECT_TRUE(added
                        .emplace(static_cast<int64_t>(move.from + i),
                                 static_cast<int64_t>(move.to + i))
                        .second)
            << "added twice: " << move.from + i;
      }
    }
  }
  EXPECT_EQ(added, written);
  EXPECT_EQ(written.size(), static_cast<size_t>(sequences.key_gradient_rows));
  if (!written.empty()) {
    EXPECT_EQ(written.rbegin()->first + 1, sequences.key_gradient_rows);
  }
}

// Those in place are written by one run each; the parts to add are those of `before`.
void ExpectSumsOfQueries(const BackwardSequences& sequences, size_t queries) {
  std::set<int64_t> in_place;
  for (const auto* of_mask : {&sequences.own, &sequences.masked}) {
    for (const Sequence& of : *of_mask) {
      for (int64_t i = 0; i < of.queries; ++i) {
        EXPECT_TRUE(in_place.insert(of.query_row + i).second)
            << "written twice: " << of.query_row + i;
      }
    }
  }
  EXPECT_EQ(in_place.size(), queries);
  std::vector<RowMove> moves;
  int64_t end = 0;
  for (const Sequence& of : sequences.before) {
    const auto row = static_cast<uint64_t>(of.query_row);
    moves.push_back({row, row, static_cast<uint64_t>(of.queries)});
    end = std::max(end, of.query_row + of.queries);
  }
  EXPECT_THAT(sequences.query_gradients, UnorderedElementsAreArray(moves));
  EXPECT_EQ(sequences.query_gradient_rows, end);
}

TEST(BackwardSequencesTest, EveryQueryMeetsEachKeyThatItSeesOnce) {
  std::mt19937_64 random(4);
  for (int repeat = 0; repeat < 300; ++repeat) {
    AttentionShape shape;
    shape.sliding_window = Draw(random, 0, 1) * Draw(random, 1, 40);
    const std::vector<AttentionTask> tasks = DrawTasks(random, shape);
    ASSERT_THAT(CheckKeys(tasks), IsOk());
    const BackwardSequences sequences =
        BackwardSequencesOf(tasks, shape.sliding_window != 0, Draw(random, 1, 20));
    EXPECT_EQ(SeenIn(sequences, shape), SeenIn(tasks, shape));
    size_t queries = 0;
    for (const AttentionTask& task : tasks) queries += task.end - task.begin;
    ExpectSumsOfKeys(sequences);
    ExpectSumsOfQueries(sequences, queries);
    ASSERT_FALSE(::testing::Test::HasFailure()) << repeat;
  }
}

}  // namespace
}  // namespace evenpack::worker
