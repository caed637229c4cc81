#include "gpu_worker/communicator/row_parcel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace evenpack::worker {
namespace {

constexpr size_t kRowBytes = 2 * sizeof(int);
// Ten rows.
const std::vector<RowRange> kSent = {{20, 3}, {0, 0}, {1, 6}, {9, 1}};
const std::vector<RowRange> kReceived = {{0, 1}, {5, 9}};

// Two tensors of 30 rows of three numbers, of which rows of two travel.
class RowParcelTest : public ::testing::Test {
 protected:
  static constexpr size_t kStride = 3 * sizeof(int);

  RowParcelTest() {
    std::iota(from_.begin(), from_.end(), 0);
    exchange_.row_bytes = kRowBytes;
    for (size_t t = 0; t < 2; ++t) {
      exchange_.tensors.push_back({&from_[t * 90], kStride, &to_[t * 90 + 1], kStride});
    }
  }

  // What the receiver has when all has travelled; how often it did.
  int Travel(size_t most_bytes) {
    RowParcel sent(exchange_, kSent, most_bytes);
    RowParcel received(exchange_, kReceived, most_bytes);
    int times = 0;
    for (; !sent.IsDone(); ++times) {
      EXPECT_FALSE(received.IsDone());
      EXPECT_EQ(sent.bytes(), received.bytes());
      EXPECT_LE(sent.bytes(), std::max(most_bytes, 2 * kRowBytes));
      sent.Pack();
      std::copy_n(sent.data(), sent.bytes(), received.data());
      received.Unpack();
      sent.Next();
      received.Next();
    }
    EXPECT_TRUE(received.IsDone());
    EXPECT_EQ(received.bytes(), 0U);
    return times;
  }

  std::vector<int> Expected() const {
    const std::vector<uint64_t> sent = {20, 21, 22, 1, 2, 3, 4, 5, 6, 9};
    const std::vector<uint64_t> received = {0, 5, 6, 7, 8, 9, 10, 11, 12, 13};
    std::vector<int> expected(to_.size(), -1);
    for (size_t t = 0; t < 2; ++t) {
      for (size_t i = 0; i < sent.size(); ++i) {
        std::copy_n(&from_[t * 90 + sent[i] * 3], 2,
                    &expected[t * 90 + received[i] * 3 + 1]);
      }
    }
    return expected;
  }

  std::vector<int> from_ = std::vector<int>(180);
  std::vector<int> to_ = std::vector<int>(180, -1);
  Exchange exchange_;
};

TEST_F(RowParcelTest, AllRowsTravelAtOnceWhereTheyMay) {
  EXPECT_EQ(Travel(1 << 20), 1);
  EXPECT_EQ(to_, Expected());
  EXPECT_EQ(RowParcel(exchange_, kSent, 1 << 20).bytes(), 10 * 2 * kRowBytes);
}

TEST_F(RowParcelTest, MoreRowsThanMayTravelSomeAtATime) {
  EXPECT_EQ(Travel(4 * 2 * kRowBytes + 1), 3);
  EXPECT_EQ(to_, Expected());
}

TEST_F(RowParcelTest, RowsThatAreTooLongTravelOneByOne) {
  EXPECT_EQ(Travel(1), 10);
  EXPECT_EQ(to_, Expected());
}

TEST_F(RowParcelTest, WithoutRowsItIsDone) {
  const std::vector<RowRange> none;
  EXPECT_TRUE(RowParcel(exchange_, none, 100).IsDone());
  EXPECT_EQ(RowParcel(exchange_, none, 100).bytes(), 0U);
}

}  // namespace
}  // namespace evenpack::worker
