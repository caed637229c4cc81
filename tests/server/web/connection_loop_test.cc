#include "server/web/connection_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/server/web/raw_client.h"
#include "tests/testing/fake_clock.h"

namespace evenpack {
namespace {

using std::chrono::seconds;
using testing::RawClient;

constexpr char kShortRequest[] = "GET /\r\n\r\n";

// A loop on a thread of its own, whose requests the test answers. The loop itself knows
// no HTTP beyond where a request ends.
class RunningLoop {
 public:
  explicit RunningLoop(size_t max_connections) {
    ConnectionLoopOptions options;
    options.max_connections = max_connections;
    options.clock = &clock_;
    std::vector<Listener> listeners = *Listener::OpenAll({"127.0.0.1", 0});
    port_ = listeners.front().address().port;
    loop_ = std::make_unique<ConnectionLoop>(
        std::move(listeners), FileDescriptor(eventfd(0, EFD_NONBLOCK)), options,
        [this](uint64_t connection, std::string request) {
          MutexLock lock(mutex_);
          requests_.emplace_back(connection, std::move(request));
          changed_.SignalAll();
        });
    thread_ = std::thread([this] { loop_->Run(); });
  }
  ~RunningLoop() {
    loop_->Stop();
    thread_.join();
  }

  uint16_t port() const { return port_; }
  testing::FakeClock& clock() { return clock_; }
  ConnectionLoop& loop() { return *loop_; }

  // The connection of the oldest request that was not taken.
  uint64_t TakeRequest() {
    MutexLock lock(mutex_);
    while (requests_.empty()) changed_.Wait(mutex_);
    const uint64_t connection = requests_.front().first;
    requests_.erase(requests_.begin());
    return connection;
  }

  // One request, answered.
  std::string Serve(std::string answer) {
    const RawClient client(port_);
    client.Send(kShortRequest);
    loop_->Reply(TakeRequest(), std::move(answer));
    return client.ReceiveAll();
  }

 private:
  testing::FakeClock clock_;
  uint16_t port_ = 0;
  std::unique_ptr<ConnectionLoop> loop_;
  std::thread thread_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::pair<uint64_t, std::string>> requests_ EVENPACK_GUARDED_BY(mutex_);
};

TEST(ConnectionLoopTest, AnswersGoToThoseWhoAsked) {
  RunningLoop running(8);
  const RawClient first(running.port());
  first.Send(kShortRequest);
  const uint64_t first_id = running.TakeRequest();
  const RawClient second(running.port());
  second.Send(kShortRequest);
  const uint64_t second_id = running.TakeRequest();
  running.loop().Reply(second_id, "to the second");
  running.loop().Reply(first_id, "to the first");
  EXPECT_EQ(second.ReceiveAll(), "to the second");
  EXPECT_EQ(first.ReceiveAll(), "to the first");
}

TEST(ConnectionLoopTest, ASilentConnectionIsClosedWhenItsTimeIsUp) {
  RunningLoop running(8);
  const RawClient silent(running.port());
  const RawClient half(running.port());
  half.Send("GET / HT");
  // Connections are accepted in order: now both were.
  running.Serve("x");
  running.clock().Advance(seconds(4));
  const RawClient late(running.port());
  running.Serve("x");
  running.clock().Advance(seconds(1));
  EXPECT_EQ(running.Serve("x"), "x");
  EXPECT_EQ(silent.ReceiveAll(), "");
  EXPECT_EQ(half.ReceiveAll(), "");
  // The late one has four seconds left.
  late.Send(kShortRequest);
  running.loop().Reply(running.TakeRequest(), "late");
  EXPECT_EQ(late.ReceiveAll(), "late");
}

TEST(ConnectionLoopTest, AnAnswerThatIsNotTakenIsCutOffWhenItsTimeIsUp) {
  RunningLoop running(8);
  const RawClient client(running.port());
  client.Send(kShortRequest);
  const std::string answer(64 << 20, 'a');
  running.loop().Reply(running.TakeRequest(), answer);
  // Part of it has come, so the loop is at it.
  std::string received = client.Receive(1);
  running.clock().Advance(seconds(10));
  running.Serve("x");
  received += client.ReceiveAll();
  EXPECT_LT(received.size(), answer.size());
}

TEST(ConnectionLoopTest, NewConnectionsTakeThePlacesOfSilentOnesOldestFirst) {
  RunningLoop running(4);
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 200; ++i) {
    silent.push_back(std::make_unique<RawClient>(running.port()));
    ASSERT_TRUE(silent.back()->connected());
    running.clock().Advance(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(running.Serve("x"), "x");
  for (size_t i = 0; i < 196; ++i) EXPECT_EQ(silent[i]->ReceiveAll(), "");
  // One of the last four had to go for the request.
  silent[199]->Send(kShortRequest);
  running.loop().Reply(running.TakeRequest(), "still there");
  EXPECT_EQ(silent[199]->ReceiveAll(), "still there");
}

TEST(ConnectionLoopTest, AnAnswerThatIsBeingTakenOutlivesSilence) {
  RunningLoop running(2);
  const RawClient taking(running.port());
  taking.Send(kShortRequest);
  const std::string answer(64 << 20, 'a');
  running.loop().Reply(running.TakeRequest(), answer);
  std::string received = taking.Receive(1);
  // The silent one has the later deadline.
  running.clock().Advance(seconds(6));
  const RawClient silent(running.port());
  EXPECT_EQ(running.Serve("x"), "x");
  EXPECT_EQ(silent.ReceiveAll(), "");
  received += taking.ReceiveAll();
  EXPECT_EQ(received.size(), answer.size());
}

TEST(ConnectionLoopTest, RequestsThatAreBeingAnsweredKeepTheirPlaces) {
  RunningLoop running(2);
  const RawClient first(running.port());
  const RawClient second(running.port());
  first.Send(kShortRequest);
  const uint64_t first_id = running.TakeRequest();
  second.Send(kShortRequest);
  const uint64_t second_id = running.TakeRequest();
  // Connects, but is not accepted while both places are taken.
  const RawClient third(running.port());
  third.Send(kShortRequest);
  ASSERT_TRUE(third.connected());
  running.clock().Advance(seconds(100));
  running.loop().Reply(first_id, "1");
  EXPECT_EQ(first.ReceiveAll(), "1");
  running.loop().Reply(running.TakeRequest(), "3");
  EXPECT_EQ(third.ReceiveAll(), "3");
  running.loop().Reply(second_id, "2");
  EXPECT_EQ(second.ReceiveAll(), "2");
}

TEST(ConnectionLoopTest, AReaderThatDawdlesDelaysNobody) {
  RunningLoop running(8);
  const RawClient slow(running.port());
  slow.Send(kShortRequest);
  const std::string answer(64 << 20, 'a');
  running.loop().Reply(running.TakeRequest(), answer);
  EXPECT_EQ(running.Serve("x"), "x");
  EXPECT_EQ(slow.ReceiveAll(), answer);
}

TEST(ConnectionLoopTest, GoesOnWhenThereAreDescriptorsAgain) {
  RunningLoop running(8);
  rlimit all{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &all), 0);
  // The client gets the last descriptor, so that its connection finds none.
  rlimit none_left = all;
  none_left.rlim_cur = static_cast<rlim_t>(FileDescriptor(dup(0)).get()) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none_left), 0);
  const RawClient client(running.port());
  client.Send(kShortRequest);
  const int beyond = dup(0);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &all), 0);
  ASSERT_TRUE(client.connected());
  EXPECT_LT(beyond, 0);
  running.clock().Advance(seconds(1));
  running.loop().Reply(running.TakeRequest(), "after all");
  EXPECT_EQ(client.ReceiveAll(), "after all");
}

TEST(ConnectionLoopTest, StopsOnlyWhenRequestsAreAnswered) {
  std::optional<RunningLoop> running;
  running.emplace(8);
  const RawClient silent(running->port());
  const RawClient asking(running->port());
  asking.Send(kShortRequest);
  const uint64_t id = running->TakeRequest();
  running->loop().Stop();
  EXPECT_EQ(silent.ReceiveAll(), "");
  EXPECT_FALSE(RawClient(running->port()).connected());
  running->loop().Reply(id, "answer");
  EXPECT_EQ(asking.ReceiveAll(), "answer");
}

}  // namespace
}  // namespace evenpack
