// paced_trainer HOST:PORT JOB DP_RANK INTERVAL_MS BUFFERED: takes a step of a rank
// every so many milliseconds, to the last of the job, and makes every tenth durable. It
// begins when so many steps wait in its client, which it says, and has been given a
// line.
//
// Each line of standard output is an object in JSON: of a step its number, its digest
// and how many steps then wait in the client.
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/strings/numbers.h"
#include "client/cpp/client.h"

namespace {

namespace client = evenpack::client;
using std::chrono::milliseconds;

constexpr uint64_t kStepsPerCheckpoint = 10;

struct Task {
  std::string address;
  std::string job;
  uint32_t dp_rank = 0;
  milliseconds interval{};
  uint64_t buffered = 0;
};

void AwaitStart(const client::Consumer& consumer, uint64_t buffered) {
  while (consumer.buffered_steps() < buffered) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  std::cout << R"({"filled": )" << consumer.buffered_steps() << "}" << std::endl;
  std::string line;
  std::getline(std::cin, line);
}

void PrintStep(const client::RankStep& step, const client::Consumer& consumer) {
  std::cout << R"({"step": )" << step.index() << R"(, "digest": ")"
            << evenpack::ToHex(step.digest()) << R"(", "buffered": )"
            << consumer.buffered_steps() << "}" << std::endl;
}

absl::Status TakeSteps(client::Consumer& consumer, milliseconds interval) {
  auto due = std::chrono::steady_clock::now();
  for (;;) {
    const absl::StatusOr<std::optional<client::RankStep>> step = consumer.Next();
    if (!step.ok()) return step.status();
    if (!step->has_value()) return absl::OkStatus();
    PrintStep(**step, consumer);
    if ((*step)->index() % kStepsPerCheckpoint == kStepsPerCheckpoint - 1) {
      absl::Status status = consumer.AcknowledgeDurable((*step)->index());
      if (!status.ok()) return status;
    }
    due += interval;
    std::this_thread::sleep_until(due);
  }
}

absl::Status Run(const Task& task) {
  client::ClientOptions options{.address = task.address};
  // So that a server that is back is soon found.
  options.backoff.maximum = milliseconds(500);
  absl::StatusOr<client::Client> connected = client::Client::Connect(options);
  if (!connected.ok()) return connected.status();
  const auto consumer = connected->OpenConsumer({.job = task.job,
                                                 .dp_rank = task.dp_rank,
                                                 .subscriber = "trainer",
                                                 .sends_durable = true});
  if (!consumer.ok()) return consumer.status();
  AwaitStart(**consumer, task.buffered);
  const absl::Status status = TakeSteps(**consumer, task.interval);
  return status.ok() ? (*consumer)->Close() : status;
}

}  // namespace

int main(int argc, char** argv) {
  Task task;
  int64_t interval = 0;
  if (argc != 6 || !absl::SimpleAtoi(argv[3], &task.dp_rank) ||
      !absl::SimpleAtoi(argv[4], &interval) ||
      !absl::SimpleAtoi(argv[5], &task.buffered)) {
    std::cerr << "usage: paced_trainer HOST:PORT JOB DP_RANK INTERVAL_MS BUFFERED\n";
    return 2;
  }
  task.address = argv[1];
  task.job = argv[2];
  task.interval = milliseconds(interval);
  const absl::Status status = Run(task);
  if (!status.ok()) std::cerr << status << '\n';
  return status.ok() ? 0 : 1;
}
