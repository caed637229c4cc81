#include "gpu_worker/selftest/selftest.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gpu_worker/communicator/local_group.h"
#include "gpu_worker/executor/executor.h"

namespace evenpack::worker {
namespace {

constexpr Sharding kShardings[] = {Sharding::kPerSequence, Sharding::kPerDocument,
                                   Sharding::kContiguous, Sharding::kHybrid};
constexpr uint32_t kHeadSizes[] = {64, 128, 192, 256};
// The engine tests' own job is size; here it is variety, in a minute.
constexpr uint32_t kMaxDocuments = 6;

// The same numbers with any standard library; what the remainder favours is nothing
// beside 2^64.
class Drawing {
 public:
  Drawing(uint64_t seed, uint64_t number)
      : random_(seed * 0x9e3779b97f4a7c15ULL + number) {}

  uint32_t From(uint32_t least, uint32_t most) {
    return least + static_cast<uint32_t>(random_() % (uint64_t{most} - least + 1));
  }
  template <typename Choices>
  auto OneOf(const Choices& choices) {
    return choices[From(0, static_cast<uint32_t>(std::size(choices)) - 1)];
  }

 private:
  std::mt19937_64 random_;
};

absl::Status RunRank(Communicator& communicator, AttentionEngine& engine,
                     const ShardPlan& plan, const AttentionShape& shape,
                     uint32_t head_groups, RankTensors& tensors) {
  Executor executor(communicator, engine, {head_groups});
  const auto prepared = executor.Prepare(plan, shape);
  if (!prepared.ok()) return prepared.status();
  absl::Status status = executor.Forward(*prepared, tensors.input(), tensors.result());
  if (!status.ok()) return status;
  return executor.Backward(*prepared, tensors.input(), tensors.result(),
                           tensors.output_gradient.data(), tensors.gradients());
}

std::string Text(const AttentionErrors& errors) {
  return absl::StrCat("output ", errors.output, ", log_sum_exp ", errors.log_sum_exp,
                      ", gradients of query ", errors.query_gradient, ", key ",
                      errors.key_gradient, ", value ", errors.value_gradient);
}

uint64_t Tokens(const SelftestCase& drawn) {
  return std::accumulate(drawn.lengths.begin(), drawn.lengths.end(), uint64_t{0});
}

bool IsPadded(const SelftestCase& drawn) {
  const ShardPlan plan = drawn.Plan();
  uint64_t held = 0;
  for (uint32_t rank = 0; rank < plan.context_parallel; ++rank) {
    held += HeldTokens(plan, rank);
  }
  return held > Tokens(drawn);
}

void Count(const SelftestCase& drawn, SelftestReport& report) {
  const AttentionShape& shape = drawn.shape;
  ++report.by_sharding[static_cast<size_t>(drawn.sharding)];
  ++report.by_ranks[drawn.context_parallel];
  ++report.by_head_size[shape.head_size];
  ++report.by_sharing_heads[shape.query_heads / shape.kv_heads];
  ++report.by_head_groups[drawn.head_groups];
  if (shape.sliding_window > 0) ++report.windowed;
  if (IsPadded(drawn)) ++report.padded;
  report.tokens += Tokens(drawn);
}

absl::Status RunCase(const SelftestOptions& options, uint64_t number,
                     const CaseRunner& run, SelftestReport& report) {
  const SelftestCase drawn = DrawCase(options, number);
  const auto failed = [&](absl::string_view why) {
    return absl::InternalError(absl::StrCat("case ", number, " of seed ", options.seed,
                                            ": ", drawn.Text(), ": ", why));
  };
  const absl::StatusOr<AttentionErrors> errors =
      run(drawn, MadeMicroBatch(drawn.shape, drawn.lengths, options.seed + number));
  if (!errors.ok()) return failed(errors.status().message());
  const double accepted = options.accepted(drawn.shape.type);
  if (!(errors->Largest() <= accepted)) {
    return failed(
        absl::StrCat("errors: ", Text(*errors), "; accepted: up to ", accepted));
  }
  SelftestFigures& figures = report.by_type[static_cast<size_t>(drawn.shape.type)];
  ++figures.cases;
  figures.errors.Merge(*errors);
  Count(drawn, report);
  return absl::OkStatus();
}

}  // namespace

absl::string_view NameOf(Sharding sharding) {
  switch (sharding) {
    case Sharding::kPerSequence:
      return "per_sequence";
    case Sharding::kPerDocument:
      return "per_document";
    case Sharding::kHybrid:
      return "hybrid";
    default:
      return "contiguous";
  }
}

std::string SelftestCase::Text() const {
  return absl::StrCat(
      NameOf(sharding), " over ", context_parallel, " ranks, padded to ", pad_to, ", ",
      ElementTypeName(shape.type), ", ", shape.query_heads, ":", shape.kv_heads,
      " heads of ", shape.head_size, " in ", head_groups, " groups, sliding window ",
      shape.sliding_window, ", documents of ", absl::StrJoin(lengths, ", "));
}

SelftestCase DrawCase(const SelftestOptions& options, uint64_t number) {
  Drawing draw(options.seed, number);
  SelftestCase drawn;
  drawn.lengths.resize(draw.From(1, kMaxDocuments));
  for (uint32_t& length : drawn.lengths) {
    // Half of them short.
    const uint32_t longest = draw.From(0, 1) == 0 ? 9 : options.max_length;
    length = draw.From(1, std::min(longest, options.max_length));
  }
  drawn.shape.type = draw.OneOf(options.types);
  drawn.shape.kv_heads = draw.From(1, 3);
  drawn.shape.query_heads = drawn.shape.kv_heads * draw.From(1, 4);
  drawn.shape.head_size = draw.OneOf(kHeadSizes);
  if (draw.From(0, 2) == 0) drawn.shape.sliding_window = draw.From(1, 100);
  drawn.sharding = draw.OneOf(kShardings);
  drawn.context_parallel = draw.From(options.min_ranks, options.max_ranks);
  drawn.pad_to = draw.From(0, 1) * draw.From(1, 16);
  if (drawn.sharding == Sharding::kHybrid) drawn.pad_to = 0;
  drawn.head_groups = draw.From(1, 3);
  return drawn;
}

absl::Status RunGroup(const ShardPlan& plan, const AttentionShape& shape,
                      uint32_t head_groups, const MakeEngine& make_engine,
                      std::vector<RankTensors>& tensors) {
  const uint32_t ranks = plan.context_parallel;
  LocalGroup group(ranks);
  std::vector<absl::Status> statuses(ranks);
  std::vector<std::thread> threads;
  threads.reserve(ranks);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const std::unique_ptr<AttentionEngine> engine = make_engine();
      statuses[rank] =
          RunRank(group.OfRank(rank), *engine, plan, shape, head_groups, tensors[rank]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : statuses) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

CaseRunner OnThreads(MakeEngine make_engine) {
  return [make_engine = std::move(make_engine)](
             const SelftestCase& drawn,
             const MadeMicroBatch& made) -> absl::StatusOr<AttentionErrors> {
    const ShardPlan plan = drawn.Plan();
    std::vector<RankTensors> tensors;
    tensors.reserve(drawn.context_parallel);
    for (uint32_t rank = 0; rank < drawn.context_parallel; ++rank) {
      tensors.push_back(made.OfRank(plan, rank));
    }
    if (absl::Status status =
            RunGroup(plan, drawn.shape, drawn.head_groups, make_engine, tensors);
        !status.ok()) {
      return status;
    }
    return made.Compare(plan, tensors);
  };
}

CaseRunner OnRank(Communicator& communicator, AttentionEngine& engine) {
  return [&communicator, &engine](
             const SelftestCase& drawn,
             const MadeMicroBatch& made) -> absl::StatusOr<AttentionErrors> {
    const ShardPlan plan = drawn.Plan();
    const uint32_t rank = communicator.rank();
    RankTensors tensors = made.OfRank(plan, rank);
    if (absl::Status status = RunRank(communicator, engine, plan, drawn.shape,
                                      drawn.head_groups, tensors);
        !status.ok()) {
      return status;
    }
    return made.Compare(plan, rank, tensors);
  };
}

absl::Status RunSelftest(const SelftestOptions& options, const CaseRunner& run,
                         const std::function<void(uint64_t)>& done,
                         SelftestReport& report) {
  report.by_type.resize(std::size(kElementTypes));
  report.by_sharding.resize(static_cast<size_t>(Sharding::kHybrid) + 1);
  report.by_ranks.resize(options.max_ranks + 1);
  for (uint64_t i = 0; i < options.cases; ++i) {
    if (absl::Status status = RunCase(options, options.first_case + i, run, report);
        !status.ok()) {
      return status;
    }
    done(i + 1);
  }
  return absl::OkStatus();
}

}  // namespace evenpack::worker
