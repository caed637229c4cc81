#include "server/metrics/process_figures.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <vector>

namespace evenpack {
namespace {

double SecondsSince1970() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

TEST(ProcessFiguresTest, TheProcessStartedNotLongAgo) {
  const ProcessFigures figures = ReadProcessFigures();
  ASSERT_TRUE(figures.start_time_seconds.has_value());
  // The kernel's time of boot is in whole seconds.
  EXPECT_LE(*figures.start_time_seconds, SecondsSince1970() + 1);
  EXPECT_GE(*figures.start_time_seconds, SecondsSince1970() - 600);
  EXPECT_EQ(ReadProcessFigures().start_time_seconds, figures.start_time_seconds);
}

TEST(ProcessFiguresTest, WorkRaisesProcessorTime) {
  const ProcessFigures before = ReadProcessFigures();
  ASSERT_TRUE(before.cpu_seconds.has_value());
  EXPECT_GT(*before.cpu_seconds, 0);
  std::optional<double> after;
  do {
    after = ReadProcessFigures().cpu_seconds;
  } while (*after < *before.cpu_seconds + 0.01);
  rusage usage{};
  ASSERT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
  const double total =
      static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
      static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
  EXPECT_NEAR(*after, total, 0.1);
}

TEST(ProcessFiguresTest, TouchedMemoryIsResident) {
  constexpr size_t kBytes = 64 << 20;
  const ProcessFigures before = ReadProcessFigures();
  const std::vector<char> memory(kBytes, 'x');
  const ProcessFigures after = ReadProcessFigures();
  ASSERT_TRUE(before.resident_bytes.has_value() && after.resident_bytes.has_value());
  EXPECT_GE(*after.resident_bytes - *before.resident_bytes, kBytes / 2);
  EXPECT_GE(*after.virtual_bytes, *after.resident_bytes);
  EXPECT_EQ(memory[kBytes - 1], 'x');
}

TEST(ProcessFiguresTest, AnOpenedFileIsCounted) {
  const ProcessFigures before = ReadProcessFigures();
  const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  const ProcessFigures after = ReadProcessFigures();
  close(file);
  ASSERT_TRUE(before.open_fds.has_value() && after.open_fds.has_value());
  EXPECT_GE(*before.open_fds, 3);
  EXPECT_EQ(*after.open_fds, *before.open_fds + 1);
  EXPECT_EQ(ReadProcessFigures().open_fds, before.open_fds);
}

TEST(ProcessFiguresTest, TheLimitOfOpenFilesIsTheProcesss) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(ReadProcessFigures().max_fds, static_cast<double>(limit.rlim_cur));
}

TEST(ResidentBytesTest, WhatIsWrittenToIsResident) {
  constexpr size_t kMore = 64 << 20;
  const uint64_t before = ResidentBytes().value_or(0);
  EXPECT_GT(before, 1U << 20);
  std::vector<char> more(kMore);
  std::memset(more.data(), 1, more.size());
  EXPECT_GT(ResidentBytes().value_or(0), before + kMore / 2);
}

}  // namespace
}  // namespace evenpack
