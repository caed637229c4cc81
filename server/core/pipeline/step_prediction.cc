#include "server/core/pipeline/step_prediction.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

// As many as a job's steps have; the sums of so many fit.
constexpr uint32_t kMaxMicroBatches = 65'536;

// One of a series of steps, each a bit more even than the one before.
struct Evenness {
  bool attention = false;      // over CP ranks
  bool exchange = false;       // over micro-batches
  bool micro_batches = false;  // all else over micro-batches
};

// Sums that means are taken of.
struct Totals {
  PassCost forward;
  PassCost backward;
  int64_t send_ns = 0;
};

void Add(const PassCost& from, PassCost& to) {
  to.attention_ns += from.attention_ns;
  to.mean_attention_ns += from.mean_attention_ns;
  to.linear_ns += from.linear_ns;
  to.exchange_ns += from.exchange_ns;
  to.head_ns += from.head_ns;
}

PassCost Divide(PassCost cost, int64_t by) {
  cost.attention_ns /= by;
  cost.mean_attention_ns /= by;
  cost.linear_ns /= by;
  cost.exchange_ns /= by;
  cost.head_ns /= by;
  return cost;
}

bool MeetAtMicroBatches(const ClusterCosts& costs) {
  return costs.cluster().sync_domain == SyncDomain::kMicroBatch;
}

int64_t ChunkNs(const PassCost& cost, const PassCost& mean, const Evenness& evenness) {
  const PassCost& work = evenness.micro_batches ? mean : cost;
  const int64_t attention =
      evenness.attention ? work.mean_attention_ns : work.attention_ns;
  return attention + work.linear_ns +
         (evenness.exchange ? mean.exchange_ns : cost.exchange_ns);
}

// What is beside computing and exchanges of the micro-batch's own.
int64_t WeightsNs(const ClusterCosts& costs, Pass pass, int64_t chunk_ns) {
  return MeetAtMicroBatches(costs) ? costs.PassExchangeNs(pass, chunk_ns) : 0;
}

// `mean`: of the step's micro-batches.
PassTime TimeOf(const ClusterCosts& costs, const MicroBatchCost& cost,
                const Totals& mean, const Evenness& evenness) {
  const bool even = evenness.micro_batches;
  PassTime time;
  time.forward_ns = ChunkNs(cost.forward, mean.forward, evenness);
  time.backward_ns = ChunkNs(cost.backward, mean.backward, evenness);
  time.forward_ns += WeightsNs(costs, Pass::kForward, time.forward_ns);
  time.backward_ns += WeightsNs(costs, Pass::kBackward, time.backward_ns);
  time.head_forward_ns = even ? mean.forward.head_ns : cost.forward.head_ns;
  time.head_backward_ns = even ? mean.backward.head_ns : cost.backward.head_ns;
  time.send_ns = even ? mean.send_ns : cost.send_ns;
  return time;
}

class Predictor {
 public:
  Predictor(const ClusterCosts& costs, std::span<const MicroBatchCost> micro_batches,
            uint32_t virtual_pipeline_group)
      : costs_(costs), all_(micro_batches) {
    const ClusterSpec& cluster = costs.cluster();
    shape_.pipeline_parallel = cluster.pipeline_parallel;
    shape_.virtual_stages = cluster.virtual_stages;
    shape_.micro_batches = static_cast<uint32_t>(all_.size() / cluster.data_parallel);
    shape_.virtual_pipeline_group = virtual_pipeline_group;
    for (const MicroBatchCost& cost : all_) {
      Add(cost.forward, totals_.forward);
      Add(cost.backward, totals_.backward);
      totals_.send_ns += cost.send_ns;
    }
    const auto count = static_cast<int64_t>(all_.size());
    mean_.forward = Divide(totals_.forward, count);
    mean_.backward = Divide(totals_.backward, count);
    mean_.send_ns = totals_.send_ns / count;
  }

  StepPrediction Predict() const {
    StepPrediction prediction;
    const Outcome actual = Run({});
    const int64_t even_ranks = Run({true, false, false}).step_ns;
    const int64_t even_exchange = Run({true, true, false}).step_ns;
    const int64_t even = Run({true, true, true}).step_ns;
    prediction.step_ns = actual.step_ns;
    prediction.bound_ns = BoundNs();
    prediction.cp_sharding_ns = actual.step_ns - even_ranks;
    prediction.communication_ns = even_ranks - even_exchange;
    prediction.packing_ns = even_exchange - even;
    prediction.pipeline_ns = even - prediction.bound_ns;
    prediction.exposed_communication_ns = actual.exposed_ns;
    if (actual.step_ns > 0) {
      prediction.bubble =
          1 - static_cast<double>(actual.busy_ns) / static_cast<double>(actual.step_ns);
    }
    Describe(prediction);
    return prediction;
  }

 private:
  struct Outcome {
    int64_t step_ns = 0;
    // Of the mean rank; exposed_ns is part of busy_ns.
    int64_t busy_ns = 0;
    int64_t exposed_ns = 0;
  };

  // By data-parallel rank.
  std::vector<std::vector<PassTime>> Times(const Evenness& evenness) const {
    std::vector<std::vector<PassTime>> ranks(costs_.cluster().data_parallel);
    for (size_t i = 0; i < all_.size(); ++i) {
      ranks[i / shape_.micro_batches].push_back(
          TimeOf(costs_, all_[i], mean_, evenness));
    }
    return ranks;
  }

  static std::vector<PassTime> Slowest(
      const std::vector<std::vector<PassTime>>& ranks) {
    std::vector<PassTime> slowest;
    std::vector<PassTime> meeting(ranks.size());
    for (size_t i = 0; i < ranks.front().size(); ++i) {
      for (size_t rank = 0; rank < ranks.size(); ++rank) meeting[rank] = ranks[rank][i];
      slowest.push_back(SlowestOf(meeting));
    }
    return slowest;
  }

  int64_t MeanChunkNs(Pass pass) const {
    const PassCost& mean = pass == Pass::kForward ? mean_.forward : mean_.backward;
    return mean.mean_attention_ns + mean.linear_ns + mean.exchange_ns;
  }

  // Once a step.
  int64_t StepExchangeNs() const {
    if (MeetAtMicroBatches(costs_)) return 0;
    const int64_t chunks = shape_.virtual_stages;
    return costs_.StepExchangeNs(MeanChunkNs(Pass::kForward) * chunks,
                                 MeanChunkNs(Pass::kBackward) * chunks);
  }

  Outcome Run(const Evenness& evenness) const {
    const std::vector<std::vector<PassTime>> ranks = Times(evenness);
    Outcome outcome;
    if (MeetAtMicroBatches(costs_)) {
      outcome.step_ns = PredictPipeline(shape_, Slowest(ranks)).total_ns;
    } else {
      for (const std::vector<PassTime>& rank : ranks) {
        outcome.step_ns =
            std::max(outcome.step_ns, PredictPipeline(shape_, rank).total_ns);
      }
    }
    const int64_t once = StepExchangeNs();
    outcome.step_ns += once;
    outcome.exposed_ns = ExposedNs(evenness) + once;
    outcome.busy_ns = BusyNs(ranks) + once;
    return outcome;
  }

  int64_t MeanOfRanks(absl::int128 sum) const {
    return static_cast<int64_t>(sum / costs_.cluster().data_parallel);
  }

  // Both are of the mean rank: all stages have the same passes, one of them the loss.
  int64_t BusyNs(const std::vector<std::vector<PassTime>>& ranks) const {
    int64_t chunks_ns = 0;
    int64_t head_ns = 0;
    for (const std::vector<PassTime>& rank : ranks) {
      for (const PassTime& time : rank) {
        chunks_ns += time.forward_ns + time.backward_ns;
        head_ns += time.head_forward_ns + time.head_backward_ns;
      }
    }
    return MeanOfRanks(absl::int128(chunks_ns) * shape_.virtual_stages +
                       head_ns / shape_.pipeline_parallel);
  }

  int64_t ExposedNs(const Evenness& evenness) const {
    int64_t exposed = totals_.forward.exchange_ns + totals_.backward.exchange_ns;
    for (const MicroBatchCost& cost : all_) {
      exposed += WeightsNs(costs_, Pass::kForward,
                           ChunkNs(cost.forward, mean_.forward, evenness));
      exposed += WeightsNs(costs_, Pass::kBackward,
                           ChunkNs(cost.backward, mean_.backward, evenness));
    }
    return MeanOfRanks(absl::int128(exposed) * shape_.virtual_stages);
  }

  int64_t BoundNs() const {
    const int64_t chunks = int64_t{shape_.pipeline_parallel} * shape_.virtual_stages;
    const int64_t passes = int64_t{shape_.micro_batches} * shape_.virtual_stages +
                           shape_.pipeline_parallel - 1;
    const auto pass_ns = [&](Pass pass, const PassCost& mean) {
      const int64_t chunk = MeanChunkNs(pass);
      return chunk + WeightsNs(costs_, pass, chunk) + mean.head_ns / chunks;
    };
    return passes * (pass_ns(Pass::kForward, mean_.forward) +
                     pass_ns(Pass::kBackward, mean_.backward)) +
           StepExchangeNs();
  }

  // What the CP ranks of a DP rank compute, one behind the other.
  std::vector<int64_t> ComputedNs(size_t data_rank, bool attention_alone) const {
    std::vector<int64_t> ranks(costs_.cluster().context_parallel);
    const size_t first = data_rank * shape_.micro_batches;
    for (const MicroBatchCost& cost : all_.subspan(first, shape_.micro_batches)) {
      for (size_t i = 0; i < cost.rank_attention_ns.size(); ++i) {
        ranks[i] += cost.rank_attention_ns[i];
        if (attention_alone) continue;
        ranks[i] += cost.forward.linear_ns + cost.backward.linear_ns;
      }
    }
    return ranks;
  }

  double GpuImbalance(bool attention_alone) const {
    int64_t slowest = 0;
    double total = 0;
    size_t count = 0;
    for (size_t rank = 0; rank < costs_.cluster().data_parallel; ++rank) {
      for (const int64_t computed : ComputedNs(rank, attention_alone)) {
        slowest = std::max(slowest, computed);
        total += static_cast<double>(computed);
        ++count;
      }
    }
    return total > 0 ? static_cast<double>(slowest) * static_cast<double>(count) / total
                     : 1;
  }

  void Describe(StepPrediction& prediction) const {
    prediction.gpu_imbalance = GpuImbalance(false);
    prediction.gpu_attention_imbalance = GpuImbalance(true);
    const uint64_t in_flight = std::min(shape_.pipeline_parallel, shape_.micro_batches);
    int64_t heaviest = 0;
    int64_t total = 0;
    for (size_t i = 0; i < all_.size(); ++i) {
      const int64_t forward = ChunkNs(all_[i].forward, mean_.forward, {});
      heaviest = std::max(heaviest, forward);
      total += forward;
      prediction.longest_micro_batch =
          std::max(prediction.longest_micro_batch, all_[i].tokens);
      if (i % shape_.micro_batches + in_flight > shape_.micro_batches) continue;
      uint64_t tokens = 0;
      for (size_t j = 0; j < in_flight; ++j) tokens += all_[i + j].tokens;
      prediction.in_flight_tokens = std::max(prediction.in_flight_tokens, tokens);
    }
    const PassCost& sums = totals_.forward;
    if (total > 0) {
      prediction.pp_imbalance = static_cast<double>(heaviest) *
                                static_cast<double>(all_.size()) /
                                static_cast<double>(total);
    }
    if (sums.mean_attention_ns > 0) {
      prediction.cp_imbalance = static_cast<double>(sums.attention_ns) /
                                static_cast<double>(sums.mean_attention_ns);
    }
  }

  const ClusterCosts& costs_;
  const std::span<const MicroBatchCost> all_;
  PipelineShape shape_;
  Totals totals_;
  Totals mean_;
};

}  // namespace

absl::Status ValidateStepShape(const ClusterSpec& cluster, uint32_t micro_batches,
                               uint32_t virtual_pipeline_group) {
  absl::Status status = CheckRange("micro_batches", micro_batches, 1, kMaxMicroBatches);
  if (!status.ok()) return status;
  if (micro_batches % cluster.data_parallel != 0) {
    return InvalidField(
        "micro_batches", micro_batches,
        absl::StrCat("a multiple of data_parallel = ", cluster.data_parallel));
  }
  return Validate(PipelineShape{cluster.pipeline_parallel, cluster.virtual_stages,
                                micro_batches / cluster.data_parallel,
                                virtual_pipeline_group});
}

PassTime PassTimeOf(const ClusterCosts& costs, const MicroBatchCost& cost) {
  return TimeOf(costs, cost, {}, {});
}

StepPrediction PredictStep(const ClusterCosts& costs,
                           std::span<const MicroBatchCost> micro_batches,
                           uint32_t virtual_pipeline_group) {
  return Predictor(costs, micro_batches, virtual_pipeline_group).Predict();
}

}  // namespace evenpack
