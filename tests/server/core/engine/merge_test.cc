#include "server/core/engine/merge.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using testing::MakeDocuments;

std::vector<StreamSpec> Streams(const std::vector<uint32_t>& weights) {
  std::vector<StreamSpec> streams;
  for (const uint32_t weight : weights) {
    streams.push_back(
        {std::string(1, static_cast<char>('a' + streams.size())), weight});
  }
  return streams;
}

MergeCursor Start(size_t streams) {
  return {std::vector<int64_t>(streams, 0), std::vector<uint8_t>(streams, 0)};
}

// Which stream each document read came from, as letters; documents of stream s have
// `stream` set to s.
std::string ReadAll(MergeReader& reader) {
  std::string order;
  while (const Document* document = reader.Next()) {
    order.push_back(static_cast<char>('a' + document->stream));
  }
  return order;
}

std::vector<std::vector<Document>> Contents(const std::vector<size_t>& counts) {
  std::vector<std::vector<Document>> contents;
  for (size_t s = 0; s < counts.size(); ++s) {
    contents.push_back(MakeDocuments(std::vector<uint32_t>(counts[s], 1)));
    for (Document& document : contents.back()) {
      document.stream = static_cast<uint32_t>(s);
    }
  }
  return contents;
}

std::string Merge(const std::vector<uint32_t>& weights,
                  const std::vector<size_t>& counts, bool ended) {
  const std::vector<StreamSpec> streams = Streams(weights);
  const std::vector<std::vector<Document>> contents = Contents(counts);
  std::vector<MergeInput> inputs;
  for (const std::vector<Document>& documents : contents) {
    inputs.push_back({documents, ended});
  }
  MergeReader reader(MergeMode::kInterleave, streams, inputs, Start(streams.size()));
  return ReadAll(reader);
}

TEST(MergeInterleaveTest, FollowsTheWeightsSmoothly) {
  EXPECT_EQ(Merge({1}, {3}, true), "aaa");
  EXPECT_EQ(Merge({1, 1}, {3, 3}, true), "ababab");
  EXPECT_EQ(Merge({2, 1}, {4, 2}, true), "abaaba");
  EXPECT_EQ(Merge({5, 1, 1}, {5, 1, 1}, true), "aabacaa");
}

TEST(MergeInterleaveTest, WaitsForAStreamThatMayStillGive) {
  EXPECT_EQ(Merge({1, 1}, {5, 2}, false), "ababa");
  EXPECT_EQ(Merge({1, 1}, {0, 2}, false), "");
}

TEST(MergeInterleaveTest, GoesOnWithoutAStreamThatHasEnded) {
  EXPECT_EQ(Merge({1, 1}, {5, 2}, true), "ababaaa");
  EXPECT_EQ(Merge({1, 1, 1}, {0, 0, 2}, true), "cc");
}

// The promise: whatever arrives when, and however early an end is known, the order is
// the same. Documents trickle in at random; the reader starts anew from the cursor.
TEST(MergeInterleaveTest, TimingDoesNotChangeTheOrder) {
  const std::vector<uint32_t> weights = {3, 1, 2};
  const std::vector<size_t> counts = {40, 25, 7};
  const std::string expected = Merge(weights, counts, true);
  const std::vector<StreamSpec> streams = Streams(weights);
  const std::vector<std::vector<Document>> contents = Contents(counts);
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<size_t> arrived(3, 0);
    std::vector<size_t> read(3, 0);
    std::vector<bool> ended(3, false);
    MergeCursor cursor = Start(3);
    std::string order;
    while (order.size() < expected.size()) {
      const uint32_t s = testing::Draw(random, 0, 2);
      if (arrived[s] < counts[s]) {
        arrived[s] += 1 + testing::Draw(random, 0, 3);
        arrived[s] = std::min(arrived[s], counts[s]);
      } else {
        ended[s] = true;
      }
      std::vector<MergeInput> inputs;
      for (size_t i = 0; i < 3; ++i) {
        inputs.push_back(
            {std::span(contents[i]).subspan(read[i], arrived[i] - read[i]), ended[i]});
      }
      MergeReader reader(MergeMode::kInterleave, streams, inputs, cursor);
      // Sometimes stop before all is read, as a full window does.
      for (uint32_t limit = testing::Draw(random, 0, 9); limit > 0; --limit) {
        const Document* document = reader.Next();
        if (document == nullptr) break;
        order.push_back(static_cast<char>('a' + document->stream));
      }
      cursor = reader.cursor();
      for (size_t i = 0; i < 3; ++i) read[i] += reader.taken()[i];
    }
    ASSERT_EQ(order, expected) << seed;
  }
}

TEST(MergeInterleaveTest, ExhaustedOnlyOnceAllHaveEndedAndAllIsRead) {
  const std::vector<StreamSpec> streams = Streams({1, 1});
  const std::vector<std::vector<Document>> contents = Contents({1, 1});
  MergeReader open(MergeMode::kInterleave, streams,
                   {{contents[0], true}, {contents[1], false}}, Start(2));
  ReadAll(open);
  EXPECT_FALSE(open.Exhausted());
  MergeReader ended(MergeMode::kInterleave, streams,
                    {{contents[0], true}, {contents[1], true}}, Start(2));
  EXPECT_FALSE(ended.Exhausted());
  ReadAll(ended);
  EXPECT_TRUE(ended.Exhausted());
  EXPECT_EQ(ended.taken(), (std::vector<uint64_t>{1, 1}));
}

TEST(MergeArrivalTest, TakesDocumentsInTheOrderTheyWereAccepted) {
  const std::vector<StreamSpec> streams = Streams({9, 1});
  std::vector<std::vector<Document>> contents = Contents({3, 2});
  const std::vector<uint64_t> orders[] = {{1, 2, 4}, {0, 3}};
  for (size_t s = 0; s < 2; ++s) {
    for (size_t i = 0; i < contents[s].size(); ++i) contents[s][i].order = orders[s][i];
  }
  MergeReader reader(MergeMode::kArrival, streams,
                     {{contents[0], false}, {contents[1], false}}, Start(2));
  EXPECT_EQ(ReadAll(reader), "baaba");
}

}  // namespace
}  // namespace evenpack
