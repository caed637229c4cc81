// What a job and the server count about themselves: plain values that the control room
// fills and the exporter reads.
#ifndef EVENPACK_SERVER_METRICS_JOB_FIGURES_H_
#define EVENPACK_SERVER_METRICS_JOB_FIGURES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/metrics/histogram.h"

namespace evenpack {

// Sums over the full steps of one way of packing (server/core/balance), of which mean
// and weighted imbalance follow as ratios of rates.
struct BalanceFigures {
  uint64_t steps = 0;
  double max_workload_seconds = 0;
  double mean_workload_seconds = 0;
  Histogram imbalance{kImbalanceBounds};
};

// Of steps whose time was predicted (server/core/pipeline/step_prediction.h).
struct PredictionFigures {
  bool possible = false;  // now: for steps to come
  uint64_t steps = 0;
  double step_seconds = 0;
  double even_seconds = 0;
  // By cause: packing, cp_sharding, pipeline, communication.
  std::array<double, 4> seconds{};
};

// A rank that computed longest beyond its own prediction.
struct LateRankFigures {
  // At most so many of a job are told.
  static constexpr size_t kMost = 4;

  uint32_t dp_rank = 0;
  uint32_t cp_rank = 0;
  // Of the window, in which it was the latest of all ranks.
  uint64_t steps = 0;
  // By which it was late in these, on average.
  double mean_seconds = 0;
};

// Of steps of whose attention all ranks reported (server/core/balance/step_excess.h):
// of one layer.
struct ExcessFigures {
  uint64_t steps = 0;
  double even_seconds = 0;
  // By cause: packing, cp_sharding, communication, machine.
  std::array<double, 4> seconds{};
  // Of each rank and step, forward.
  Histogram attention_over_predicted{kRatioBounds};
  uint64_t window_steps = 0;                // now: those of which the latest is known
  std::vector<LateRankFigures> late_ranks;  // now: in these, the most often late first
};

// By how much the parts of a job's cost model are multiplied.
struct ScaleFigures {
  double attention = 1;
  double linear = 1;
};

// evenpack.v1.CostCalibration.
struct CalibrationFigures {
  ScaleFigures applied;
  std::optional<ScaleFigures> measured;
  ScaleFigures suggested;
  uint64_t observations = 0;
  bool separable = false;
  uint64_t calibrations = 0;
};

struct StreamFigures {
  std::string name;
  uint64_t documents_accepted = 0;
  uint64_t tokens_accepted = 0;
  uint64_t buffered_documents = 0;
  uint64_t buffered_tokens = 0;
  uint64_t buffered_bytes = 0;
  // Reading from its producers has stopped until a step takes some.
  bool full = false;
  bool ended = false;
};

// A delay queue: level 0 is that of the shortest outliers.
struct QueueFigures {
  uint64_t documents = 0;
  uint64_t tokens = 0;
  // Global batches admitted since the oldest document's own; 0 where empty.
  uint64_t oldest_batches = 0;
};

// Since the server started, but for those that say "now". A value: the reader gets a
// copy.
struct JobFigures {
  std::string job;
  // It can't go on until somebody sees to it, now.
  bool broken = false;

  std::vector<StreamFigures> streams;
  std::vector<QueueFigures> queues;  // now
  uint64_t left_over_documents = 0;  // now
  uint64_t left_over_tokens = 0;     // now
  // As QueueFigures::oldest_batches, now.
  uint64_t left_over_oldest_batches = 0;

  // Committed steps by StepKind: full, backlog, drain.
  std::array<uint64_t, 3> steps{};
  uint64_t documents_emitted = 0;
  uint64_t tokens_emitted = 0;
  uint64_t padding_emitted = 0;
  uint64_t long_document_tokens_emitted = 0;
  // Of full steps.
  BalanceFigures policy;
  // The policy `original` on the same documents.
  BalanceFigures original;
  Histogram step_fill{kStepFillBounds};
  double step_fill_squares = 0;
  Histogram long_document_share{kShareBounds};
  PredictionFigures prediction;
  // Of each document, when its last piece is emitted.
  Histogram document_delay{kDelayBounds};
  // Micro-batches by Sharding: per_sequence, per_document, contiguous, hybrid.
  std::array<uint64_t, 4> shardings{};
  // Of a micro-batch: most loaded CP rank over the mean, by attended pairs.
  Histogram context_parallel_imbalance{kImbalanceBounds};

  uint64_t epoch = 0;          // now
  uint64_t next_step = 0;      // now: decided
  uint64_t durable_steps = 0;  // now: at all DP ranks
  uint64_t kept_steps = 0;     // now
  uint64_t ready_steps = 0;    // now: decided, and sent to no subscriber
  uint64_t payload_bytes = 0;  // now: of token ids, by value

  uint64_t subscribers = 0;      // now
  uint64_t max_lag_steps = 0;    // now: steps decided beyond what a subscriber received
  uint64_t min_lag_steps = 0;    // now: likewise, the fastest subscriber's
  uint64_t total_lag_steps = 0;  // now: over all subscribers
  uint64_t unused_credits = 0;   // now: over all subscribers
  uint64_t producers = 0;        // now
  // Of context-parallel groups.
  uint64_t group_members = 0;    // now
  uint64_t groups = 0;           // now: with a member
  uint64_t groups_standing = 0;  // now: all ranks connected to each other

  Histogram decide_seconds{kLatencyBounds};
  Histogram commit_seconds{kLatencyBounds};
  // From decided to handed to the transport, per subscriber and step.
  Histogram delivery_seconds{kLatencyBounds};
  // Reported by trainers.
  double step_wait_seconds = 0;
  uint64_t steps_taken = 0;
  Histogram measured_over_predicted{kRatioBounds};
  ExcessFigures excess;
  CalibrationFigures calibration;  // now, less what it counts
};

struct ServerFigures {
  uint64_t ingest_streams = 0;  // now
  uint64_t step_streams = 0;    // now
  uint64_t group_streams = 0;   // now
  // Since the server started; what was refused is counted by the code's number.
  uint64_t ingest_streams_opened = 0;
  uint64_t step_streams_opened = 0;
  uint64_t group_streams_opened = 0;
  std::array<uint64_t, 17> errors_by_code{};
  // By kDeniedReasons (metric_names.h).
  std::array<uint64_t, 3> denied_calls{};
  // When the gRPC port's certificate runs out, since 1970-01-01 UTC; none without TLS.
  std::optional<int64_t> certificate_expiry_seconds;
  // Each quota by its name, in a constant order.
  std::vector<std::pair<std::string, uint64_t>> quota_refusals;
  uint64_t store_commits = 0;
  uint64_t store_commit_failures = 0;
  uint64_t store_records = 0;
  uint64_t store_bytes = 0;
  uint64_t store_size_bytes = 0;  // now
  // Of the commit that is under way; 0: none is.
  double store_commit_age_seconds = 0;
  // It isn't reached, or its last commit failed of late.
  bool store_away = false;
  // Of a store that several servers share.
  uint64_t jobs_taken = 0;
  uint64_t jobs_handed_over = 0;
  uint64_t jobs_lost = 0;
  uint64_t leaderless_answers = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_METRICS_JOB_FIGURES_H_
