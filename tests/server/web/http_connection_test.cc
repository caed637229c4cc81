#include "server/web/http_connection.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "tests/testing/fake_clock.h"

namespace evenpack {
namespace {

using State = HttpConnection::State;
using std::chrono::milliseconds;

constexpr char kRequest[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

// A connection and its client, which never blocks either.
class HttpConnectionTest : public ::testing::Test {
 protected:
  HttpConnectionTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    client_ = FileDescriptor(ends[0]);
    limits_.max_request_bytes = 64;
    limits_.request_timeout = milliseconds(500);
    limits_.answer_timeout = milliseconds(700);
    limits_.close_timeout = milliseconds(300);
    connection_.emplace(FileDescriptor(ends[1]), limits_, clock_.Now());
  }

  void Send(std::string_view bytes) const {
    EXPECT_EQ(send(client_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // All that is there.
  std::string Receive() const {
    std::string all;
    char bytes[4096];
    for (;;) {
      const ssize_t count = recv(client_.get(), bytes, sizeof(bytes), 0);
      if (count <= 0) return all;
      all.append(bytes, static_cast<size_t>(count));
    }
  }
  std::optional<std::string> Advance() { return connection_->Advance(clock_.Now()); }
  milliseconds TimeLeft() const {
    return std::chrono::duration_cast<milliseconds>(connection_->deadline() -
                                                    clock_.Now());
  }
  State state() const { return connection_->state(); }

  testing::FakeClock clock_;
  HttpConnectionLimits limits_;
  FileDescriptor client_;
  std::optional<HttpConnection> connection_;
};

TEST_F(HttpConnectionTest, WaitsForARequest) {
  EXPECT_EQ(Advance(), std::nullopt);
  EXPECT_EQ(state(), State::kReading);
  EXPECT_EQ(connection_->events(), POLLIN);
  EXPECT_EQ(TimeLeft(), milliseconds(500));
}

TEST_F(HttpConnectionTest, GivesOutARequestWhenItIsWhole) {
  Send(kRequest);
  EXPECT_EQ(Advance(), kRequest);
  EXPECT_EQ(state(), State::kAnswering);
  EXPECT_EQ(connection_->events(), 0);
  EXPECT_EQ(connection_->deadline(), Clock::TimePoint::max());
}

TEST_F(HttpConnectionTest, ARequestMayComeByteByByteAndGainsNoTimeByIt) {
  const std::string_view request(kRequest);
  for (size_t i = 0; i + 1 < request.size(); ++i) {
    Send(request.substr(i, 1));
    clock_.Advance(milliseconds(10));
    ASSERT_EQ(Advance(), std::nullopt) << i;
  }
  EXPECT_EQ(TimeLeft(),
            milliseconds(500 - 10 * (static_cast<int>(request.size()) - 1)));
  Send(request.substr(request.size() - 1));
  EXPECT_EQ(Advance(), request);
}

TEST_F(HttpConnectionTest, WhatFollowsARequestIsNotPartOfIt) {
  Send(absl::StrCat(kRequest, "more"));
  EXPECT_EQ(Advance(), kRequest);
}

TEST_F(HttpConnectionTest, ARequestThatIsTooLongIsGivenOutAsFarAsItIsAccepted) {
  Send(std::string(63, 'x'));
  EXPECT_EQ(Advance(), std::nullopt);
  Send("yz");
  EXPECT_EQ(Advance(), absl::StrCat(std::string(63, 'x'), "y"));
  EXPECT_EQ(state(), State::kAnswering);
}

TEST_F(HttpConnectionTest, AClientThatLeavesWithoutARequestIsGone) {
  Send("GET /");
  shutdown(client_.get(), SHUT_WR);
  EXPECT_EQ(Advance(), std::nullopt);
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(HttpConnectionTest, AClientThatOnlyListensOnIsAnswered) {
  Send(kRequest);
  shutdown(client_.get(), SHUT_WR);
  EXPECT_EQ(Advance(), kRequest);
  connection_->Reply("answer", clock_.Now());
  EXPECT_EQ(Receive(), "answer");
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(HttpConnectionTest, AfterTheAnswerItWaitsForTheClientToClose) {
  Send(kRequest);
  Advance();
  connection_->Reply("answer", clock_.Now());
  EXPECT_EQ(state(), State::kClosing);
  EXPECT_EQ(connection_->events(), POLLIN);
  EXPECT_EQ(TimeLeft(), milliseconds(300));
  EXPECT_EQ(Receive(), "answer");
  Send("what it says now is not heard");
  EXPECT_EQ(Advance(), std::nullopt);
  EXPECT_EQ(state(), State::kClosing);
  client_ = FileDescriptor();
  EXPECT_EQ(Advance(), std::nullopt);
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(HttpConnectionTest, ALongAnswerGoesAsTheClientTakesIt) {
  Send(kRequest);
  Advance();
  const std::string answer(8 << 20, 'a');
  connection_->Reply(answer, clock_.Now());
  ASSERT_EQ(state(), State::kWriting);
  EXPECT_EQ(connection_->events(), POLLOUT);
  std::string received;
  while (state() == State::kWriting) {
    EXPECT_EQ(TimeLeft(), milliseconds(700));
    received += Receive();
    Advance();
  }
  received += Receive();
  EXPECT_EQ(received, answer);
}

TEST_F(HttpConnectionTest, AClientThatLeavesBeforeItsAnswerIsGone) {
  Send(kRequest);
  Advance();
  client_ = FileDescriptor();
  connection_->Reply(std::string(8 << 20, 'a'), clock_.Now());
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(HttpConnectionTest, ADeadlineCanBeBroughtForwardAndNotBack) {
  connection_->HurryUntil(clock_.Now() + milliseconds(100));
  EXPECT_EQ(TimeLeft(), milliseconds(100));
  connection_->HurryUntil(clock_.Now() + milliseconds(200));
  EXPECT_EQ(TimeLeft(), milliseconds(100));
}

}  // namespace
}  // namespace evenpack
