// What is reported of a packing run.
#ifndef EVENPACK_CLIENT_CLI_PACK_FIGURES_H_
#define EVENPACK_CLIENT_CLI_PACK_FIGURES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/percentile.h"
#include "server/core/balance/step_balance.h"
#include "server/core/document/step.h"

namespace evenpack {

// Full steps left out of imbalance, lower bound and share where there are more than
// kMinStepsForWarmUp of them: the queues fill first.
inline constexpr size_t kWarmUpSteps = 50;
inline constexpr size_t kMinStepsForWarmUp = 100;

// Percentiles are by nearest rank. What is measured over full steps is nothing where
// there was none.
struct PackFigures {
  struct Imbalance {
    double mean, p50, p99, max;
    // Sum of max / sum of mean.
    double weighted;
  };
  struct TokensPerStep {
    double mean;
    // Population standard deviation / mean.
    double cv;
    uint64_t min, max;
  };
  struct LongShare {
    double p5, p50, p95;
  };
  struct Delay {
    uint64_t p50, p99, max;
  };
  struct Seconds {
    double mean, p50, p99;
  };

  uint64_t steps = 0;  // formed from a full global batch
  uint64_t drain_steps = 0;
  uint64_t backlog_steps = 0;
  uint64_t documents_in = 0;
  uint64_t documents_out = 0;
  uint64_t tokens_in = 0;
  uint64_t tokens_out = 0;
  // Accepted documents that the job still holds.
  uint64_t left_over = 0;
  std::optional<Imbalance> imbalance;
  std::optional<double> lower_bound_mean;
  // Global batches, over all tokens.
  double token_delay_mean = 0;
  // Global batches, over documents as their last piece comes out.
  Delay document_delay = {};
  std::optional<TokensPerStep> tokens_per_step;
  std::optional<LongShare> long_share;
  // Of all tokens accepted.
  double long_share_stream = 0;
  // Tokens, over all steps.
  uint64_t longest_micro_batch = 0;
  Seconds decide = {};
  // Documents out per second spent in the engine.
  double documents_per_second = 0;
  // Of the last step, in hexadecimal.
  std::string digest;
  // Sum of each step's heaviest micro-batch, over all steps.
  double predicted_forward_seconds = 0;
  // Sum of max / sum of mean over all steps but those of the drain, no warm-up left
  // out; nothing where there are no others.
  std::optional<double> imbalance_weighted_all;
  // The same over all steps: what the whole run waits, its drain included.
  double imbalance_weighted_run = 1;
  // Of a step, the mean over all steps: that time, and the least that the step's
  // documents allow, which is the mean of its micro-batches or, where that is longer,
  // the heaviest document alone.
  double predicted_step_seconds = 0;
  double step_lower_bound_seconds = 0;
  // Of a step, the mean over all steps: what the policy tried (levels, exchanges).
  double search_operations = 0;
  // The lengths from which documents wait for others of their class: of wlb its
  // thresholds, of balanced those that fit the stream at its end.
  std::vector<uint32_t> classes;
};

// Gathers a run's steps one by one. Not thread-safe.
class PackTally {
 public:
  void AddStep(StepKind kind, const StepBalance& balance, double decide_seconds,
               uint64_t search_operations = 0);
  // `delay` in global batches; `ends_document`: it completes its document.
  void AddPiece(uint32_t tokens, uint64_t delay, bool ends_document);

  // All that the steps tell; counts of documents and tokens, left_over, share of the
  // stream, rate and digest are the caller's.
  PackFigures Figures() const;

 private:
  std::vector<StepBalance> full_steps_;
  std::vector<double> decide_seconds_;
  Histogram document_delay_;
  uint64_t drain_steps_ = 0;
  uint64_t backlog_steps_ = 0;
  uint64_t longest_micro_batch_ = 0;
  double tokens_ = 0;
  double token_delays_ = 0;
  double forward_ns_ = 0;
  double lower_bound_ns_ = 0;
  double even_ns_ = 0;
  // Of all steps but those of the drain.
  double max_ns_ = 0;
  double mean_ns_ = 0;
  double search_operations_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_PACK_FIGURES_H_
