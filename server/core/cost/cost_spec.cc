#include "server/core/cost/cost_spec.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "server/core/cost/length_curve.h"
#include "server/core/document/document.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

constexpr uint32_t kMaxParallel = 1024;
constexpr double kNsPerSecond = 1e9;

using CurveFunction = absl::FunctionRef<absl::StatusOr<int64_t>(uint64_t tokens)>;

absl::Status StepTooLong(uint32_t max_tokens, uint32_t micro_batches) {
  return InvalidField(
      "max_tokens", max_tokens,
      absl::StrCat("a length at which the predicted workload of a step "
                   "of ",
                   micro_batches, " micro-batches stays within 2^62 ns at this cost"));
}

// What refuses the numbers that no int64_t holds, on behalf of one resolution.
struct Resolution {
  uint32_t max_tokens;
  uint32_t micro_batches;

  absl::StatusOr<int64_t> Nanoseconds(absl::uint128 value) const {
    if (value > static_cast<uint64_t>(WorkloadTable::kMaxStepNs)) {
      return StepTooLong(max_tokens, micro_batches);
    }
    return static_cast<int64_t>(absl::Uint128Low64(value));
  }
  absl::StatusOr<int64_t> Nanoseconds(double value) const {
    // Written so that NaN fails.
    if (!(value <= static_cast<double>(WorkloadTable::kMaxStepNs))) {
      return StepTooLong(max_tokens, micro_batches);
    }
    return static_cast<int64_t>(std::llround(value));
  }
};

absl::StatusOr<WorkloadTable> Tabulate(const Resolution& resolution,
                                       CurveFunction attention, CurveFunction linear) {
  auto attention_curve = LengthCurve::Sample(resolution.max_tokens, attention);
  if (!attention_curve.ok()) return attention_curve.status();
  auto linear_curve = LengthCurve::Sample(resolution.max_tokens, linear);
  if (!linear_curve.ok()) return linear_curve.status();
  auto table =
      WorkloadTable::Create(*std::move(attention_curve), *std::move(linear_curve));
  if (table.ok() && !table->StepFits(resolution.micro_batches)) {
    return StepTooLong(resolution.max_tokens, resolution.micro_batches);
  }
  return table;
}

absl::Status CheckCost(const QuadraticCost& cost) {
  if (cost.crossover_tokens < 1) {
    return InvalidField("crossover_tokens", cost.crossover_tokens, "at least 1");
  }
  if (cost.ns_per_token < 1) {
    return InvalidField("ns_per_token", cost.ns_per_token, "at least 1");
  }
  return absl::OkStatus();
}

absl::Status CheckCost(const AnalyticCost& cost) {
  absl::Status status = Validate(cost.model);
  status.Update(Validate(cost.hardware));
  status.Update(CheckRange("tensor_parallel", cost.tensor_parallel, 1, kMaxParallel));
  status.Update(CheckRange("context_parallel", cost.context_parallel, 1, kMaxParallel));
  return status;
}

absl::Status CheckCost(const ProfiledCost& cost) {
  absl::Status status = CheckCost(cost.linear);
  if (!status.ok()) return status;
  if (cost.attention.empty()) {
    return InvalidField("attention", "an empty table", "a table of measured latencies");
  }
  return absl::OkStatus();
}

absl::Status CheckShape(uint32_t max_tokens, uint32_t micro_batches) {
  absl::Status status = CheckRange("max_tokens", max_tokens, 1, kMaxDocumentLength);
  if (!status.ok()) return status;
  if (micro_batches >= 1) return absl::OkStatus();
  return InvalidField("micro_batches", micro_batches, "at least 1");
}

// Operations that the whole group does in a nanosecond.
double FlopsPerNs(const AnalyticCost& cost, double fraction) {
  return cost.hardware.peak_flops * fraction * cost.tensor_parallel *
         cost.context_parallel / kNsPerSecond;
}

absl::StatusOr<WorkloadTable> Resolve(const QuadraticCost& cost,
                                      const Resolution& resolution) {
  const auto attention = [&](uint64_t tokens) {
    const absl::uint128 scaled = absl::uint128(tokens) * tokens * cost.ns_per_token;
    return resolution.Nanoseconds((scaled + cost.crossover_tokens / 2) /
                                  cost.crossover_tokens);
  };
  const auto linear = [&](uint64_t tokens) {
    return resolution.Nanoseconds(absl::uint128(tokens) * cost.ns_per_token);
  };
  return Tabulate(resolution, attention, linear);
}

absl::StatusOr<int64_t> LinearNs(const AnalyticCost& cost, const Resolution& resolution,
                                 uint64_t tokens) {
  return resolution.Nanoseconds(LinearFlopsPerToken(cost.model) *
                                static_cast<double>(tokens) /
                                FlopsPerNs(cost, cost.hardware.linear_fraction));
}

absl::StatusOr<WorkloadTable> Resolve(const AnalyticCost& cost,
                                      const Resolution& resolution) {
  const double attention_rate = FlopsPerNs(cost, cost.hardware.attention_fraction);
  const auto attention = [&](uint64_t tokens) {
    return resolution.Nanoseconds(AttentionFlops(cost.model, tokens) / attention_rate);
  };
  const auto linear = [&](uint64_t tokens) {
    return LinearNs(cost, resolution, tokens);
  };
  return Tabulate(resolution, attention, linear);
}

// Layers of full attention that would attend as many pairs as this model's do.
double FullLayers(const ModelSpec& model, uint64_t tokens) {
  const double share = static_cast<double>(AttendedPairs(tokens, model.window)) /
                       static_cast<double>(AttendedPairs(tokens, 0));
  return model.layers - model.window_layers + model.window_layers * share;
}

absl::StatusOr<WorkloadTable> Resolve(const ProfiledCost& cost,
                                      const Resolution& resolution) {
  const AnalyticCost& shape = cost.linear;
  double most = 0.0;
  const auto attention = [&](uint64_t tokens) {
    if (tokens == 0) return resolution.Nanoseconds(0.0);
    const auto length = static_cast<uint32_t>(tokens);
    const auto layer = static_cast<double>(cost.attention.SliceNs(length, length));
    const double all = layer * FullLayers(shape.model, tokens);
    most = std::max(most, all / shape.context_parallel);
    return resolution.Nanoseconds(most);
  };
  const auto linear = [&](uint64_t tokens) {
    return LinearNs(shape, resolution, tokens);
  };
  return Tabulate(resolution, attention, linear);
}

}  // namespace

absl::Status Validate(const CostSpec& cost) {
  return std::visit([](const auto& model) { return CheckCost(model); }, cost);
}

absl::StatusOr<WorkloadTable> ResolveWorkload(const CostSpec& cost, uint32_t max_tokens,
                                              uint32_t micro_batches) {
  absl::Status status = Validate(cost);
  status.Update(CheckShape(max_tokens, micro_batches));
  if (!status.ok()) return status;
  const Resolution resolution = {max_tokens, micro_batches};
  return std::visit([&](const auto& model) { return Resolve(model, resolution); },
                    cost);
}

absl::StatusOr<WorkloadTable> TabulateWorkload(
    uint32_t max_tokens, uint32_t micro_batches,
    absl::FunctionRef<double(uint64_t tokens)> attention_ns,
    absl::FunctionRef<double(uint64_t tokens)> linear_ns) {
  absl::Status status = CheckShape(max_tokens, micro_batches);
  if (!status.ok()) return status;
  const Resolution resolution = {max_tokens, micro_batches};
  return Tabulate(
      resolution,
      [&](uint64_t tokens) { return resolution.Nanoseconds(attention_ns(tokens)); },
      [&](uint64_t tokens) { return resolution.Nanoseconds(linear_ns(tokens)); });
}

double CrossoverTokens(const AnalyticCost& cost) {
  const double per_pair =
      4.0 * cost.model.query_heads * cost.model.head_size * cost.model.layers;
  // linear / linear_fraction = per_pair * (d + 1) / 2 / attention_fraction
  return 2.0 * LinearFlopsPerToken(cost.model) * cost.hardware.attention_fraction /
             (per_pair * cost.hardware.linear_fraction) -
         1.0;
}

}  // namespace evenpack
