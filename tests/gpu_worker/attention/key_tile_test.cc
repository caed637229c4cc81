#include "gpu_worker/attention/key_tile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace evenpack::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<KeyRun> Tiles(const AttentionTask& task, uint32_t window, uint32_t begin,
                          uint32_t end) {
  AttentionShape shape;
  shape.sliding_window = window;
  std::vector<KeyRun> tiles;
  ForEachKeyTile(task, shape, begin, end,
                 [&tiles](const KeyRun& tile) { tiles.push_back(tile); });
  return tiles;
}

// Keys 0 to 99 are received, 100 to 699 are own.
AttentionTask TwoRuns() {
  AttentionTask task;
  task.begin = 600;
  task.end = 700;
  task.keys = {{0, 100, 40, true}, {100, 600, 1000, false}};
  return task;
}

TEST(KeyTileTest, TilesCoverTheKeysUpToTheLastQuery) {
  EXPECT_THAT(Tiles(TwoRuns(), 0, 600, 650),
              ElementsAre(KeyRun{0, 100, 40, true}, KeyRun{100, 256, 1000, false},
                          KeyRun{356, 256, 1256, false}, KeyRun{612, 38, 1512, false}));
}

TEST(KeyTileTest, KeysBeforeTheWindowOfTheFirstQueryAreLeftOut) {
  EXPECT_THAT(Tiles(TwoRuns(), 521, 600, 601),
              ElementsAre(KeyRun{80, 20, 120, true}, KeyRun{100, 256, 1000, false},
                          KeyRun{356, 245, 1256, false}));
  EXPECT_THAT(Tiles(TwoRuns(), 1, 600, 601), ElementsAre(KeyRun{600, 1, 1500, false}));
}

TEST(KeyTileTest, NoQueriesSeeNothing) {
  EXPECT_THAT(Tiles(AttentionTask(), 0, 0, 0), IsEmpty());
}

TEST(KeyTileTest, AQuerySeesKeysUpToItselfAndBackToItsWindow) {
  struct Row {
    uint32_t window;
    uint32_t position;
    uint32_t begin;
    uint32_t end;
  };
  // Keys 100 to 149.
  const KeyRun tile = {100, 50, 0, false};
  const Row rows[] = {
      {0, 99, 0, 0},     {0, 100, 0, 1},    {0, 120, 0, 21},    {0, 149, 0, 50},
      {0, 500, 0, 50},   {1, 120, 20, 21},  {10, 104, 0, 5},    {10, 120, 11, 21},
      {10, 155, 46, 50}, {10, 159, 50, 50}, {1000, 120, 0, 21},
  };
  for (const Row& row : rows) {
    AttentionShape shape;
    shape.sliding_window = row.window;
    const VisibleKeys visible = VisibleTo(row.position, tile, shape);
    EXPECT_EQ(visible.begin, row.begin) << row.window << " " << row.position;
    EXPECT_EQ(visible.end, row.end) << row.window << " " << row.position;
  }
}

}  // namespace
}  // namespace evenpack::worker
