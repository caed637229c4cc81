// client_first_use HOST:PORT: creates a job, sends it documents, takes the steps of its
// two ranks, and deletes it.
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>

#include "client/cpp/client.h"
#include "evenpack/v1/job.pb.h"

namespace {

namespace client = evenpack::client;
namespace v1 = evenpack::v1;

// 4 micro-batches a step: 2 data-parallel ranks of 2. Each is shared by 2
// context-parallel ranks.
v1::JobSpec Spec() {
  v1::JobSpec spec;
  spec.add_streams()->set_name("web");
  spec.mutable_parallelism()->set_data(2);
  spec.mutable_parallelism()->set_micro_batches_per_rank(2);
  spec.mutable_parallelism()->set_context(2);
  spec.set_window(4096);
  spec.set_max_length(8192);
  return spec;
}

absl::Status Produce(client::Client client) {
  auto producer = client.OpenProducer({.job = "first-use", .stream = "web"});
  if (!producer.ok()) return producer.status();
  for (uint32_t i = 0; i < 100; ++i) {
    client::DocumentColumns documents;
    for (uint32_t k = 0; k < 64; ++k) {
      documents.length.push_back(16 + (i * 64 + k) * 2654435761U % 1024);
    }
    if (absl::Status status = (*producer)->Add(documents); !status.ok()) return status;
  }
  return (*producer)->EndOfStream();
}

// What a trainer does with a micro-batch; here only the tokens are counted.
uint64_t Train(const client::MicroBatchView& micro_batch) {
  // micro_batch.documents(): whose tokens to gather, in order.
  // micro_batch.cu_seqlens(), max_seqlen(), PositionIds(): what attention needs.
  // micro_batch.own_slices(): the tokens of this context-parallel rank.
  return micro_batch.own_slices().tokens;
}

absl::Status Consume(client::Client client, uint32_t dp_rank, uint64_t& tokens) {
  auto consumer = client.OpenConsumer({.job = "first-use",
                                       .dp_rank = dp_rank,
                                       .cp_rank = 0,
                                       .subscriber = "trainer",
                                       .sends_durable = true});
  if (!consumer.ok()) return consumer.status();
  for (;;) {
    absl::StatusOr<std::optional<client::RankStep>> step = (*consumer)->Next();
    if (!step.ok()) return step.status();
    if (!step->has_value()) break;  // the job is drained
    for (const client::MicroBatchView& micro_batch : (*step)->micro_batches()) {
      tokens += Train(micro_batch);
    }
    // Once the checkpoint after this step is on disk:
    absl::Status status = (*consumer)->AcknowledgeDurable((*step)->index());
    if (!status.ok()) return status;
  }
  return (*consumer)->Close();
}

absl::Status Run(const char* address) {
  absl::StatusOr<client::Client> client = client::Client::Connect({.address = address});
  if (!client.ok()) return client.status();
  absl::StatusOr<v1::Job> job = client->CreateJob("first-use", Spec());
  if (!job.ok()) return job.status();

  absl::Status results[3];
  uint64_t tokens[2] = {};
  std::thread producer([&] { results[2] = Produce(*client); });
  std::thread rank_0([&] { results[0] = Consume(*client, 0, tokens[0]); });
  std::thread rank_1([&] { results[1] = Consume(*client, 1, tokens[1]); });
  producer.join();
  rank_0.join();
  rank_1.join();
  absl::Status status = client->DeleteJob("first-use");
  for (const absl::Status& result : results) status.Update(result);
  std::cout << "tokens of ranks 0 and 1: " << tokens[0] << ' ' << tokens[1] << '\n';
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: client_first_use HOST:PORT\n";
    return 2;
  }
  const absl::Status status = Run(argv[1]);
  if (!status.ok()) std::cerr << status << '\n';
  return status.ok() ? 0 : 1;
}
