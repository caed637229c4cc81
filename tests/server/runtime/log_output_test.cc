#include "server/runtime/log_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <climits>
#include <string>
#include <thread>

#include "server/runtime/file_descriptor.h"

namespace evenpack {
namespace {

// Where each page that has begun counts as full.
constexpr int kBytes = 4 * PIPE_BUF;
constexpr std::chrono::milliseconds kNone{0};
// As long as a test may take.
constexpr std::chrono::milliseconds kLong{60'000};

// A pipe that nobody reads but who asks.
class Pipe {
 public:
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    reading_ = FileDescriptor(ends[0]);
    writing_ = FileDescriptor(ends[1]);
    EXPECT_EQ(fcntl(reading_.get(), F_SETFL, O_NONBLOCK), 0);
    EXPECT_GE(fcntl(writing_.get(), F_SETPIPE_SZ, kBytes), kBytes);
  }

  int writing() const { return writing_.get(); }

  // All that is in it.
  std::string Read() const {
    std::string read_back;
    std::array<char, 1 << 16> part{};
    ssize_t count = 0;
    while ((count = read(reading_.get(), part.data(), part.size())) > 0) {
      read_back.append(part.data(), static_cast<size_t>(count));
    }
    return read_back;
  }

  // Leaves no room.
  void Fill() const {
    LogOutput output(writing_.get(), kNone);
    while (output.Write("........\n")) {
    }
  }

 private:
  FileDescriptor reading_;
  FileDescriptor writing_;
};

TEST(LogOutputTest, WritesLines) {
  const Pipe pipe;
  LogOutput output(pipe.writing(), kNone);
  EXPECT_TRUE(output.Write("a\n"));
  EXPECT_TRUE(output.Write("b\n"));
  EXPECT_EQ(pipe.Read(), "a\nb\n");
  EXPECT_EQ(output.left_out(), 0);
}

TEST(LogOutputTest, NobodyWaitsForAReaderThatDoesNotRead) {
  const Pipe pipe;
  pipe.Fill();
  LogOutput output(pipe.writing(), std::chrono::milliseconds(1));
  EXPECT_FALSE(output.Write("a\n"));
  EXPECT_FALSE(output.Write("b\n"));
  EXPECT_EQ(output.left_out(), 2);
  pipe.Read();
  EXPECT_TRUE(output.Write("c\n"));
  EXPECT_EQ(pipe.Read(), "c\n");
  EXPECT_EQ(output.left_out(), 2);
  output.Forget();
  EXPECT_EQ(output.left_out(), 0);
}

TEST(LogOutputTest, WaitsForAReaderThatIsSlow) {
  const Pipe pipe;
  pipe.Fill();
  LogOutput output(pipe.writing(), kLong);
  std::thread reader([&pipe] {
    std::string read_back;
    while (read_back.find("last") == std::string::npos) read_back += pipe.Read();
  });
  EXPECT_TRUE(output.Write("a\n"));
  EXPECT_TRUE(output.Write(std::string(1 << 20, 'b') + "\n"));
  EXPECT_TRUE(output.Write("last\n"));
  reader.join();
  EXPECT_EQ(output.left_out(), 0);
}

TEST(LogOutputTest, ALineThatWasCutIsEndedBeforeTheNext) {
  const Pipe pipe;
  LogOutput output(pipe.writing(), kNone);
  EXPECT_FALSE(output.Write(std::string(1 << 20, 'a') + "\n"));
  EXPECT_FALSE(output.Write("b\n"));
  EXPECT_EQ(output.left_out(), 2);
  EXPECT_EQ(pipe.Read().back(), 'a');
  EXPECT_TRUE(output.Write("c\n"));
  EXPECT_TRUE(output.Write("d\n"));
  EXPECT_EQ(pipe.Read(), "\nc\nd\n");
}

TEST(LogOutputTest, OneThatDoesNotBlockIsWaitedForLikewise) {
  const Pipe pipe;
  pipe.Fill();
  ASSERT_EQ(fcntl(pipe.writing(), F_SETFL, O_NONBLOCK), 0);
  LogOutput output(pipe.writing(), std::chrono::milliseconds(1));
  EXPECT_FALSE(output.Write("a\n"));
  pipe.Read();
  EXPECT_TRUE(output.Write("b\n"));
}

TEST(LogOutputTest, AnErrorLosesTheLine) {
  const FileDescriptor full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  LogOutput output(full.get(), kLong);
  EXPECT_FALSE(output.Write("a\n"));
  EXPECT_EQ(output.left_out(), 1);
}

}  // namespace
}  // namespace evenpack
