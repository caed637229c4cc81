// What the tests of a producer begin with: a fake stub on the other side of its calls.
#ifndef EVENPACK_TESTS_CLIENT_CPP_PRODUCER_FIXTURE_H_
#define EVENPACK_TESTS_CLIENT_CPP_PRODUCER_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "client/cpp/producer_session.h"
#include "evenpack/v1/packing_service.pb.h"
#include "tests/client/cpp/session_fixture.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {

inline v1::IngestResponse Accepted(uint64_t next_sequence, bool ended = false) {
  v1::IngestResponse response;
  response.set_next_sequence(next_sequence);
  response.set_ended(ended);
  return response;
}

// So many documents of length 10 and up.
inline client::DocumentColumns Documents(uint32_t count) {
  client::DocumentColumns documents;
  for (uint32_t i = 0; i < count; ++i) documents.length.push_back(10 + i);
  return documents;
}

class ProducerFixture : public SessionFixture {
 protected:
  ProducerFixture() {
    options_.job = "run";
    options_.stream = "web";
    options_.batch_documents = 4;
    options_.max_unaccepted_documents = 12;
  }

  std::unique_ptr<client::ProducerSession> Start() {
    return std::make_unique<client::ProducerSession>(stub_, client_options_, options_);
  }
  // A producer whose first call, call_, was told what is next.
  std::unique_ptr<client::ProducerSession> Open(uint64_t server_next = 0) {
    auto producer = Start();
    call_ = Accept(server_next);
    EXPECT_THAT(producer->AwaitOpen(), IsOk());
    return producer;
  }
  std::shared_ptr<FakeIngestCall> Accept(uint64_t server_next, bool ended = false) {
    std::shared_ptr<FakeIngestCall> call = stub_->AwaitIngestCall();
    EXPECT_EQ(call->AwaitMessage().open().job(), "run");
    call->Send(Accepted(server_next, ended));
    return call;
  }

  // The next message is a batch of these numbers.
  static void ExpectBatch(FakeIngestCall& call, uint64_t first, int documents) {
    const v1::IngestRequest message = call.AwaitMessage();
    EXPECT_TRUE(message.has_batch()) << message.ShortDebugString();
    EXPECT_EQ(message.batch().first_sequence(), first);
    EXPECT_EQ(message.batch().length_size(), documents);
  }
  // Blocks until the producer has taken the answer.
  static void AwaitAccepted(const client::Producer& producer, uint64_t sequence) {
    while (producer.accepted_sequence() != sequence) std::this_thread::yield();
  }

  client::ProducerOptions options_;
  std::shared_ptr<FakeIngestCall> call_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_CLIENT_CPP_PRODUCER_FIXTURE_H_
