#include "gpu_worker/selftest/made_micro_batch.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "server/core/cost/kernel_latency_table.h"
#include "server/core/sharding/plan_sharding.h"

namespace evenpack::worker {
namespace {

// For hybrid sharding, which then has whole documents and cut ones.
KernelLatencyTable OneNanosecondATile() {
  return KernelLatencyTable::FromGrid({128, 256}, {128, 256}, {1000, 2000, 1000, 2000},
                                      /*launch_ns=*/0)
      .value();
}

// Rows of doubles as a rank holds them: typed, with NaNs where nothing was put.
class TypedRows {
 public:
  TypedRows(ElementType type, uint64_t rows, size_t row)
      : type_(type), row_(row), bytes_(rows * row * BytesOf(type)) {
    const std::vector<float> poison(row, std::numeric_limits<float>::quiet_NaN());
    for (uint64_t i = 0; i < rows; ++i) Store(type, poison.data(), row, At(i));
  }

  void Put(uint64_t at, const std::vector<double>& from, uint64_t row) {
    const auto first = from.begin() + static_cast<ptrdiff_t>(row * row_);
    const std::vector<float> values(first, first + static_cast<ptrdiff_t>(row_));
    Store(type_, values.data(), row_, At(at));
  }
  std::vector<char> bytes() && { return std::move(bytes_); }

 private:
  char* At(uint64_t row) { return bytes_.data() + row * row_ * BytesOf(type_); }

  const ElementType type_;
  const size_t row_;
  std::vector<char> bytes_;
};

// Differences between a rank's rows and those of the reference, in shares of the
// largest number of that. Where that is next to nothing they are in shares of
// `least_magnitude`, which what it is computed from has: inputs are of the order of 1.
class Comparison {
 public:
  Comparison(const std::vector<double>& expected, double least_magnitude)
      : expected_(expected), magnitude_(least_magnitude) {
    for (const double value : expected) {
      magnitude_ = std::max(magnitude_, std::fabs(value));
    }
  }

  void Row(const float* row, uint64_t expected_row, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const double difference =
          std::fabs(double{row[i]} - expected_[expected_row * count + i]);
      // False for a NaN too.
      if (!(difference <= worst_)) worst_ = Finite(difference);
    }
  }
  void Padding(const float* row, size_t count) {
    if (!std::all_of(row, row + count, [](float value) { return value == 0; })) {
      worst_ = std::numeric_limits<double>::infinity();
    }
  }
  double error() const { return worst_ / magnitude_; }

 private:
  static double Finite(double difference) {
    return std::isnan(difference) ? std::numeric_limits<double>::infinity()
                                  : difference;
  }

  const std::vector<double>& expected_;
  double magnitude_;
  double worst_ = 0;
};

std::vector<float> Loaded(ElementType type, const std::vector<char>& bytes) {
  std::vector<float> values(bytes.size() / BytesOf(type));
  Load(type, bytes.data(), values.size(), values.data());
  return values;
}

}  // namespace

ShardPlan Planned(Sharding sharding, const std::vector<uint32_t>& lengths,
                  uint32_t context_parallel, uint32_t pad_to) {
  if (sharding == Sharding::kHybrid) pad_to = 0;
  return PlanSharding(sharding, lengths, context_parallel, pad_to, OneNanosecondATile(),
                      {.cut_token_ps = 1})
      .value();
}

void AttentionErrors::Merge(const AttentionErrors& other) {
  output = std::max(output, other.output);
  log_sum_exp = std::max(log_sum_exp, other.log_sum_exp);
  query_gradient = std::max(query_gradient, other.query_gradient);
  key_gradient = std::max(key_gradient, other.key_gradient);
  value_gradient = std::max(value_gradient, other.value_gradient);
}

double AttentionErrors::Largest() const {
  return std::max({output, log_sum_exp, query_gradient, key_gradient, value_gradient});
}

MadeMicroBatch::MadeMicroBatch(const AttentionShape& shape,
                               std::vector<uint32_t> lengths, uint64_t seed)
    : shape_(shape), lengths_(std::move(lengths)) {
  input_.lengths = lengths_;
  const auto append = [&](TensorRole role, size_t row_size, uint32_t document,
                          uint32_t position, std::vector<double>& to) {
    std::vector<float> row(row_size);
    FillSyntheticRow(seed, role, document, position, shape_.type, row);
    to.insert(to.end(), row.begin(), row.end());
  };
  for (uint32_t document = 0; document < lengths_.size(); ++document) {
    for (uint32_t position = 0; position < lengths_[document]; ++position) {
      append(TensorRole::kQuery, shape_.query_row(), document, position, input_.query);
      append(TensorRole::kKey, shape_.kv_row(), document, position, input_.key);
      append(TensorRole::kValue, shape_.kv_row(), document, position, input_.value);
      append(TensorRole::kOutputGradient, shape_.query_row(), document, position,
             output_gradient_);
    }
  }
  output_ = ReferenceForward(shape_, input_);
  gradients_ = ReferenceBackward(shape_, input_, output_gradient_);
}

template <typename Visit>
void MadeMicroBatch::ForEachRow(const ShardPlan& plan, uint32_t rank,
                                Visit visit) const {
  const RankSlices slices = ExpandRank(plan, rank);
  uint64_t local = 0;
  for (size_t i = 0; i < slices.size(); ++i) {
    const uint64_t first = plan.document_starts[slices.document[i]];
    for (uint32_t position = slices.begin[i]; position < slices.end[i]; ++position) {
      visit(first + position, local++);
    }
  }
}

RankTensors MadeMicroBatch::OfRank(const ShardPlan& plan, uint32_t rank) const {
  const uint64_t rows = HeldTokens(plan, rank);
  const auto empty = [&](size_t row) { return TypedRows(shape_.type, rows, row); };
  const auto filled = [&](const std::vector<double>& from, size_t row) {
    TypedRows to = empty(row);
    ForEachRow(plan, rank,
               [&](uint64_t at, uint64_t local) { to.Put(local, from, at); });
    return std::move(to).bytes();
  };
  RankTensors tensors;
  tensors.query = filled(input_.query, shape_.query_row());
  tensors.key = filled(input_.key, shape_.kv_row());
  tensors.value = filled(input_.value, shape_.kv_row());
  tensors.output_gradient = filled(output_gradient_, shape_.query_row());
  tensors.output = empty(shape_.query_row()).bytes();
  tensors.log_sum_exp.assign(rows * shape_.query_heads,
                             std::numeric_limits<float>::quiet_NaN());
  tensors.query_gradient = empty(shape_.query_row()).bytes();
  tensors.key_gradient = empty(shape_.kv_row()).bytes();
  tensors.value_gradient = empty(shape_.kv_row()).bytes();
  return tensors;
}

AttentionErrors MadeMicroBatch::Compare(const ShardPlan& plan, uint32_t rank,
                                        const RankTensors& tensors) const {
  const uint64_t tokens = ExpandRank(plan, rank).tokens;
  const uint64_t held = HeldTokens(plan, rank);
  const auto error = [&](const std::vector<float>& rows, size_t row,
                         const std::vector<double>& expected,
                         double least_magnitude = 0.1) {
    Comparison comparison(expected, least_magnitude);
    ForEachRow(plan, rank, [&](uint64_t at, uint64_t local) {
      comparison.Row(rows.data() + local * row, at, row);
    });
    for (uint64_t local = tokens; local < held; ++local) {
      comparison.Padding(rows.data() + local * row, row);
    }
    return comparison.error();
  };
  const auto loaded = [this](const std::vector<char>& bytes) {
    return Loaded(shape_.type, bytes);
  };
  AttentionErrors errors;
  errors.output = error(loaded(tensors.output), shape_.query_row(), output_.output);
  errors.log_sum_exp =
      error(tensors.log_sum_exp, shape_.query_heads, output_.log_sum_exp);
  // Differences from a mean, which are 0 where a query sees one key.
  constexpr double kOfTerms = 1;
  errors.query_gradient = error(loaded(tensors.query_gradient), shape_.query_row(),
                                gradients_.query, kOfTerms);
  errors.key_gradient =
      error(loaded(tensors.key_gradient), shape_.kv_row(), gradients_.key, kOfTerms);
  errors.value_gradient =
      error(loaded(tensors.value_gradient), shape_.kv_row(), gradients_.value);
  return errors;
}

AttentionErrors MadeMicroBatch::Compare(const ShardPlan& plan,
                                        const std::vector<RankTensors>& ranks) const {
  AttentionErrors errors;
  for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
    errors.Merge(Compare(plan, rank, ranks[rank]));
  }
  return errors;
}

}  // namespace evenpack::worker
