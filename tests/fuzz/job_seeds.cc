#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "evenpack/v1/packing_service.pb.h"
#include "server/core/engine/event_codec.h"
#include "server/core/engine/state_codec.h"
#include "server/service/step_conversion.h"
#include "tests/fuzz/request_list.h"
#include "tests/fuzz/request_player.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/sealed_state.h"
#include "tests/fuzz/seeds.h"

namespace evenpack::fuzz {
namespace {

constexpr uint32_t kWindow = 128;
constexpr uint32_t kMaxLength = 192;

// One job's life.
struct Example {
  std::string name;
  v1::JobSpec spec;
  // What is asked besides documents and steps.
  bool updates = false;
  bool restores = false;
};

v1::JobSpec SpecOf(uint32_t data, uint32_t micro_batches) {
  v1::JobSpec spec;
  spec.add_streams()->set_name("a");
  spec.set_window(kWindow);
  spec.set_max_length(kMaxLength);
  spec.mutable_parallelism()->set_data(data);
  spec.mutable_parallelism()->set_micro_batches_per_rank(micro_batches);
  return spec;
}

using Edit = std::function<void(v1::JobSpec&)>;

Example With(const std::string& name, const Edit& edit, bool updates = false,
             bool restores = false) {
  Example example{name, SpecOf(2, 2), updates, restores};
  edit(example.spec);
  return example;
}

void AddPolicies(std::vector<Example>& examples) {
  examples.push_back(With("wlb", [](v1::JobSpec& spec) {
    spec.mutable_policy()->mutable_wlb()->add_queue_thresholds(64);
    spec.mutable_policy()->mutable_wlb()->add_queue_thresholds(120);
    spec.set_max_delay(3);
  }));
  examples.push_back(With(
      "wlb_updated",
      [](v1::JobSpec& spec) {
        spec.mutable_policy()->mutable_wlb()->add_queue_thresholds(96);
        spec.mutable_retention()->set_checkpoints(3);
      },
      /*updates=*/true));
  examples.push_back(With("original", [](v1::JobSpec& spec) {
    spec.mutable_policy()->mutable_original()->set_split_documents(true);
    spec.set_split_overlong(true);
    spec.set_max_length(kWindow);
  }));
  examples.push_back(With(
      "fixed_greedy",
      [](v1::JobSpec& spec) {
        spec.mutable_policy()->mutable_fixed_greedy()->set_window_batches(3);
      },
      /*updates=*/true, /*restores=*/true));
  examples.push_back(With("two_streams", [](v1::JobSpec& spec) {
    v1::Stream& other = *spec.add_streams();
    other.set_name("b");
    other.set_weight(3);
    spec.mutable_retention()->set_checkpoints(2);
  }));
  examples.push_back(With(
      "arrival",
      [](v1::JobSpec& spec) {
        spec.add_streams()->set_name("b");
        spec.set_merge(v1::MERGE_MODE_ARRIVAL);
      },
      /*updates=*/false, /*restores=*/true));
}

void AddLayouts(std::vector<Example>& examples) {
  examples.push_back(With("megatron", [](v1::JobSpec& spec) {
    spec.mutable_parallelism()->set_context(2);
    spec.mutable_parallelism()->set_tensor(2);
    spec.mutable_consumer_layout()->set_layout(v1::LAYOUT_MEGATRON_THD);
    spec.mutable_consumer_layout()->set_sequence_parallel(true);
    spec.mutable_consumer_layout()->set_max_documents(6);
  }));
  examples.push_back(With(
      "ladder",
      [](v1::JobSpec& spec) {
        spec.mutable_parallelism()->set_context(2);
        spec.mutable_consumer_layout()->set_layout(v1::LAYOUT_RING_LLAMA3);
        for (const uint32_t rung : {32U, 64U, 128U, 192U}) {
          spec.mutable_consumer_layout()->add_shape_ladder(rung);
        }
      },
      /*updates=*/true));
  examples.push_back(With("padded", [](v1::JobSpec& spec) {
    spec.mutable_consumer_layout()->set_layout(v1::LAYOUT_HF_FLAT);
    spec.mutable_consumer_layout()->set_pad_tokens_to(16);
  }));
  examples.push_back(With("hybrid", [](v1::JobSpec& spec) {
    spec.mutable_parallelism()->set_context(3);
    spec.set_sharding(v1::SHARDING_HYBRID);
    spec.mutable_hybrid()->set_cut_token_ps(300);
  }));
  examples.push_back(With("adaptive", [](v1::JobSpec& spec) {
    spec.mutable_parallelism()->set_context(4);
    spec.set_sharding(v1::SHARDING_ADAPTIVE);
    v1::KernelLatency& latency = *spec.mutable_cost()->mutable_kernel_latency();
    for (const uint32_t length : {128U, 256U}) {
      latency.add_q_lens(length);
      latency.add_kv_lens(length);
    }
    for (const int64_t ns : {900, 1400, 0, 2600}) latency.add_slice_ns(ns);
    latency.set_launch_ns(500);
  }));
  examples.push_back(With("analytic", [](v1::JobSpec& spec) {
    v1::AnalyticCost& cost = *spec.mutable_cost()->mutable_analytic();
    cost.mutable_model()->set_name("7B");
    cost.mutable_hardware()->set_name("H100");
    spec.mutable_parallelism()->set_context(2);
  }));
  examples.push_back(With("table", [](v1::JobSpec& spec) {
    v1::CostTable& table = *spec.mutable_cost()->mutable_table();
    for (const uint32_t tokens : {64U, 128U, 192U}) {
      table.add_tokens(tokens);
      table.add_attention_ns(tokens * tokens);
      table.add_linear_ns(int64_t{40} * tokens);
    }
    spec.mutable_buffer_limits()->set_max_documents(4096);
  }));
}

void AddBalanced(std::vector<Example>& examples) {
  examples.push_back(With(
      "balanced",
      [](v1::JobSpec& spec) {
        v1::BalancedPolicy& balanced = *spec.mutable_policy()->mutable_balanced();
        balanced.set_max_in_flight_tokens(320);
        spec.mutable_parallelism()->set_pipeline(2);
        spec.set_max_delay(2);
      },
      /*updates=*/true, /*restores=*/true));
  examples.push_back(With(
      "balanced_even",
      [](v1::JobSpec& spec) {
        spec.mutable_policy()->mutable_balanced()->set_token_cv(0.05);
        spec.mutable_policy()->mutable_balanced()->set_long_share(0.2);
        spec.mutable_retention()->set_checkpoints(3);
      },
      /*updates=*/true));
  examples.push_back(With(
      "balanced_by_class",
      [](v1::JobSpec& spec) {
        spec.mutable_policy()->mutable_balanced()->set_release(v1::RELEASE_BY_CLASS);
      },
      /*updates=*/false, /*restores=*/true));
}

// The requests of an example's life.
class Script {
 public:
  Script(Example example, const uint32_t* lengths)
      : example_(std::move(example)), next_length_(lengths) {}

  std::vector<Request> Write() {
    v1::CreateJobRequest create;
    *create.mutable_spec() = example_.spec;
    Add(RequestKind::kCreateJob, create);
    v1::StreamStepsRequest subscribe;
    subscribe.mutable_subscribe()->set_sends_durable(true);
    Add(RequestKind::kStreamSteps, subscribe);
    Ingest(30);
    Form(3);
    Mark();
    Ingest(20);
    Form(3);
    if (example_.updates) Update();
    if (example_.updates) Rewind();
    if (example_.restores) Checkpoint();
    EndAll();
    Form(7);
    return requests_;
  }

 private:
  void Add(RequestKind kind, const google::protobuf::Message& message) {
    requests_.push_back({kind, message.SerializeAsString()});
  }
  // A 128th of the lengths of the file, so that the corpus is small.
  uint32_t NextLength() {
    const uint32_t length = *next_length_++ / 128 + 1;
    return example_.spec.split_overlong() ? length : std::min(length, kWindow);
  }
  void Open(const std::string& stream) {
    v1::IngestRequest open;
    open.mutable_open()->set_stream(stream);
    Add(RequestKind::kIngest, open);
  }
  void Ingest(int documents) {
    for (const v1::Stream& stream : example_.spec.streams()) {
      Open(stream.name());
      v1::IngestRequest request;
      v1::DocumentBatch& batch = *request.mutable_batch();
      batch.set_first_sequence(sent_);
      for (int i = 0; i < documents; ++i) {
        batch.add_length(NextLength());
        batch.add_id(1000 + sent_ + static_cast<uint64_t>(i));
        batch.add_source(static_cast<uint32_t>(i % 3));
      }
      Add(RequestKind::kIngest, request);
    }
    sent_ += static_cast<uint64_t>(documents);
  }
  void EndAll() {
    for (const v1::Stream& stream : example_.spec.streams()) {
      Open(stream.name());
      v1::IngestRequest request;
      request.mutable_end_of_stream()->set_documents(sent_);
      Add(RequestKind::kIngest, request);
    }
  }
  void Form(uint64_t steps) {
    v1::GetStepRequest request;
    request.set_step(steps);
    Add(RequestKind::kGetStep, request);
  }
  void Mark() {
    for (const uint32_t rank : {0U, 1U}) {
      v1::AcknowledgeRequest request;
      request.set_dp_rank(rank);
      request.set_step(0);
      Add(RequestKind::kAcknowledge, request);
    }
  }
  void Update() {
    v1::UpdateJobRequest request;
    *request.mutable_spec() = example_.spec;
    request.mutable_spec()->set_max_length(2 * kWindow);
    request.set_from_step(2);
    Add(RequestKind::kUpdateJob, request);
    Form(2);
  }
  void Rewind() {
    v1::RewindJobRequest request;
    request.set_from_step(1);
    *request.add_skip() = Range(15);
    Add(RequestKind::kRewindJob, request);
    Form(2);
    v1::SkipDocumentsRequest skip;
    *skip.add_skip() = Range(45);
    Add(RequestKind::kSkipDocuments, skip);
  }
  v1::DocumentRange Range(uint64_t first) const {
    v1::DocumentRange range;
    range.set_stream(example_.spec.streams(0).name());
    range.set_first_sequence(first);
    range.set_documents(10);
    return range;
  }
  void Checkpoint() {
    v1::CheckpointJobRequest request;
    request.set_step(1);
    Add(RequestKind::kCheckpointJob, request);
  }

  const Example example_;
  const uint32_t* next_length_;
  uint64_t sent_ = 0;
  std::vector<Request> requests_;
};

void AddStepSeed(const std::string& name, const RequestPlayer& player,
                 std::vector<Seed>& seeds) {
  if (player.window().begin() == player.window().end()) return;
  const auto published = player.window().Get(player.window().end() - 1);
  v1::Step step;
  ToProto(*published, {1, 1}, step);
  seeds.push_back({"step", name, step.SerializeAsString()});
}

// An event of each kind, the smallest, where it says something of this job.
void AddEventSeeds(const std::string& name, const FuzzJob& job,
                   std::vector<Seed>& seeds) {
  std::vector<std::string> smallest(std::variant_size_v<Event>);
  for (const std::string& record : job.records()) {
    std::string& best = smallest[Required(DecodeEvent(record), "an event").index()];
    if (best.empty() || record.size() < best.size()) best = record;
  }
  for (size_t kind = 0; kind < smallest.size(); ++kind) {
    constexpr size_t kTiny = 32;
    if (smallest[kind].empty() || (smallest[kind].size() < kTiny && name != "wlb")) {
      continue;
    }
    seeds.push_back({"event", name + "-" + std::to_string(kind), smallest[kind]});
  }
}

void Play(const std::string& name, const std::vector<Request>& requests,
          std::vector<Seed>& seeds) {
  seeds.push_back({"request", name, JoinRequests(requests)});
  RequestPlayer player;
  for (size_t i = 0; i < requests.size(); ++i) {
    player.Play(requests[i]);
    Require(player.job().state().created, "an example's spec is accepted", name);
    // In the middle, where most waits.
    if (i != requests.size() / 2) continue;
    seeds.push_back(
        {"state", name, std::string(BodyOf(EncodeState(player.job().state())))});
    AddStepSeed(name, player, seeds);
  }
  player.Finish();
  Require(IsDrained(player.job().state()), "an example comes to its end", name);
  AddEventSeeds(name, player.job(), seeds);
}

}  // namespace

void AddJobSeeds(const std::vector<uint32_t>& lengths, std::vector<Seed>& seeds) {
  std::vector<Example> examples;
  AddPolicies(examples);
  AddLayouts(examples);
  AddBalanced(examples);
  const uint32_t* next = lengths.data();
  for (Example& example : examples) {
    const std::string name = example.name;
    Play(name, Script(std::move(example), next).Write(), seeds);
    next += 200;
  }
}

}  // namespace evenpack::fuzz
