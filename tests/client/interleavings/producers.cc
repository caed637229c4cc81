#include "tests/client/interleavings/producers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/producer_session.h"
#include "server/runtime/worker_pool.h"
#include "tests/testing/awaited.h"

namespace evenpack::testing {

using client::ProducerSession;

uint32_t LengthOf(uint64_t sequence) {
  return static_cast<uint32_t>(10 + (sequence * 2654435761U) % 61);
}

struct Producers::Producer {
  Producer(Network& network, const std::string& name, const Clock& clock,
           const client::ProducerOptions& options)
      : process(network, name, clock, {"0", "1"}),
        session(std::make_unique<ProducerSession>(process.stub(), process.options(),
                                                  options)) {}
  ~Producer() {
    session->Cancel();
    caller.reset();
  }

  ClientProcess process;
  std::unique_ptr<ProducerSession> session;
  // What it is in a call of.
  std::optional<Awaited<absl::Status>> calls;
  size_t stream = 0;
  uint64_t accepted = 0;
  bool opened = false;
  bool ends = false;
  bool ended = false;
  std::unique_ptr<WorkerPool> caller = std::make_unique<WorkerPool>(1);
};

Producers::Producers(Network& network, const Clock& clock, Dice& dice, Journal& journal,
                     Terms terms)
    : network_(network),
      clock_(clock),
      dice_(dice),
      journal_(journal),
      terms_(std::move(terms)) {
  for (size_t i = 0; i < terms_.streams.size(); ++i) producers_.push_back(Open(i));
}

Producers::~Producers() = default;

std::unique_ptr<Producers::Producer> Producers::Open(size_t stream) {
  client::ProducerOptions options;
  options.job = terms_.job;
  options.stream = terms_.streams[stream];
  options.batch_documents = 1 + dice_.Draw(4);
  options.max_unaccepted_documents = options.batch_documents * (1 + dice_.Draw(3));
  if (dice_.Draw(2) == 0) options.from_sequence = 0;
  const std::string name = absl::StrCat("producer/", started_++);
  journal_.Note("start ", name);
  auto producer = std::make_unique<Producer>(network_, name, clock_, options);
  producer->stream = stream;
  producer->process.Rest();
  return producer;
}

void Producers::Restart() {
  constexpr size_t kMost = 3;
  if (dice_.Coin() && producers_.size() < kMost) {
    const auto last = static_cast<uint32_t>(terms_.streams.size() - 1);
    producers_.push_back(Open(dice_.Draw(last)));
    return;
  }
  std::unique_ptr<Producer>& producer = dice_.OneOf(producers_);
  const size_t stream = producer->stream;
  journal_.Note("kill ", producer->process.name());
  producer = nullptr;
  producer = Open(stream);
}

bool Producers::StepOne() { return Step(*dice_.OneOf(producers_)); }

bool Producers::StepAll() {
  bool did = false;
  for (const auto& producer : producers_) did |= Step(*producer);
  return did;
}

bool Producers::Step(Producer& producer) {
  const uint64_t accepted = producer.session->accepted_sequence();
  EXPECT_GE(accepted, producer.accepted) << producer.process.name();
  producer.accepted = accepted;
  if (producer.ended) return false;
  if (!producer.calls.has_value()) {
    Begin(producer);
    return true;
  }
  constexpr int kYields = 50;
  for (int i = 0; i < kYields && !producer.calls->IsSet(); ++i) {
    std::this_thread::yield();
  }
  if (!producer.calls->IsSet()) return false;
  const absl::Status status = producer.calls->Get();
  EXPECT_TRUE(status.ok()) << producer.process.name() << ": " << status;
  producer.calls.reset();
  producer.opened = true;
  producer.ended = producer.ends || !status.ok();
  if (producer.ended) journal_.Note(producer.process.name(), " ended the stream");
  return true;
}

void Producers::Begin(Producer& producer) {
  const Awaited<absl::Status> done;
  producer.calls = done;
  ProducerSession* const session = producer.session.get();
  const auto call = [&](std::function<absl::Status()> what) {
    producer.caller->Run([done, what = std::move(what)] { done(what()); });
  };
  if (!producer.opened) return call([session] { return session->AwaitOpen(); });
  const uint64_t next = session->next_sequence();
  if (next >= terms_.documents) {
    producer.ends = true;
    return call([session] { return session->EndOfStream(); });
  }
  if (dice_.Draw(5) == 0) return call([session] { return session->Flush(); });
  client::DocumentColumns documents;
  const uint64_t end = std::min(terms_.documents, next + 1 + dice_.Draw(9));
  for (uint64_t i = next; i < end; ++i) documents.length.push_back(LengthOf(i));
  call([session, documents] { return session->Add(documents); });
}

bool Producers::HaveEnded() const {
  return std::ranges::all_of(producers_,
                             [](const auto& producer) { return producer->ended; });
}

std::vector<ClientProcess*> Producers::processes() {
  std::vector<ClientProcess*> processes;
  for (const auto& producer : producers_) processes.push_back(&producer->process);
  return processes;
}

void Producers::Print() const {
  for (const auto& producer : producers_) {
    std::cerr << producer->process.name() << ": next "
              << producer->session->next_sequence() << ", accepted "
              << producer->session->accepted_sequence() << ", is in a call "
              << producer->calls.has_value() << "\n";
  }
}

}  // namespace evenpack::testing
