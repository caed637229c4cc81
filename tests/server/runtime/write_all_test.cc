#include "server/runtime/write_all.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <thread>

namespace evenpack {
namespace {

TEST(WriteAllTest, WritesMoreThanFitsAtOnce) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  std::string read_back;
  std::thread reader([&] {
    std::array<char, 1000> part{};
    ssize_t count = 0;
    while ((count = read(ends[0], part.data(), part.size())) > 0) {
      read_back.append(part.data(), static_cast<size_t>(count));
    }
  });
  std::string bytes(1 << 20, 'a');
  bytes[7] = '\0';
  EXPECT_TRUE(WriteAll(ends[1], bytes));
  close(ends[1]);
  reader.join();
  close(ends[0]);
  EXPECT_EQ(read_back, bytes);
}

TEST(WriteAllTest, SaysWhyNotAllWasWritten) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  EXPECT_TRUE(WriteAll(full, ""));
  errno = 0;
  EXPECT_FALSE(WriteAll(full, "text"));
  EXPECT_EQ(errno, ENOSPC);
  close(full);
}

}  // namespace
}  // namespace evenpack
