// Every metric of the server: its name, type, labels and help text. docs/metrics.md has
// the same tables for readers: tests/server/metrics/make_doc.sh writes them.
#ifndef EVENPACK_SERVER_METRICS_METRIC_NAMES_H_
#define EVENPACK_SERVER_METRICS_METRIC_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "server/metrics/metric_definition.h"

namespace evenpack {

// Values of labels that stand for no name of a user's.
inline constexpr std::string_view kOther = "other";     // stream, queue: a sum
inline constexpr std::string_view kPackingJob = "job";  // packing
inline constexpr std::string_view kPackingOriginal = "original";
// By JobFigures::steps and JobFigures::shardings.
inline constexpr std::string_view kKindNames[] = {"full_batch", "backlog", "drain"};
inline constexpr std::string_view kShardingNames[] = {"per_sequence", "per_document",
                                                      "contiguous", "hybrid"};
// By ExcessFigures::seconds.
inline constexpr std::string_view kCauseNames[] = {"packing", "cp_sharding",
                                                   "communication", "machine"};
// By ServerFigures::denied_calls.
inline constexpr std::string_view kDeniedReasons[] = {"NO_IDENTITY", "TOKEN_UNKNOWN",
                                                      "ROLE_MISSING"};
// By PredictionFigures::seconds.
inline constexpr std::string_view kPredictedCauseNames[] = {
    "packing", "cp_sharding", "pipeline", "communication"};
// By CalibrationFigures.
inline constexpr std::string_view kScaleApplied = "applied";
inline constexpr std::string_view kScaleMeasured = "measured";
inline constexpr std::string_view kScaleSuggested = "suggested";
// How a job moved between servers.
inline constexpr std::string_view kMoveTaken = "taken";
inline constexpr std::string_view kMoveHandedOver = "handed_over";
inline constexpr std::string_view kMoveLost = "lost";

enum class Metric : uint8_t {
  kBuildInfo,
  kJobs,
  kJobsLeftOut,
  kBrokenJobs,
  kIngestStreams,
  kIngestStreamsOpened,
  kStepStreams,
  kStepStreamsOpened,
  kGroupStreams,
  kGroupStreamsOpened,
  kErrors,
  kDeniedCalls,
  kCertificateExpiry,
  kQuotaRefusals,
  kStoreCommits,
  kStoreCommitFailures,
  kStoreRecords,
  kStoreBytes,
  kStoreSize,
  kStoreCommitAge,
  kStoreAway,
  kJobsMoved,
  kLeaderlessAnswers,
  kDocumentsAccepted,
  kTokensAccepted,
  kBufferedDocuments,
  kBufferedTokens,
  kBufferedBytes,
  kStreamFull,
  kStreamEnded,
  kSteps,
  kDocumentsEmitted,
  kTokensEmitted,
  kPaddingEmitted,
  kLongDocumentTokensEmitted,
  kStepMaxWorkload,
  kStepMeanWorkload,
  kStepImbalance,
  kStepFill,
  kStepFillSquares,
  kStepLongDocumentShare,
  kPredictedSteps,
  kPredictedStep,
  kPredictedEvenStep,
  kPredictedExcess,
  kQueueDocuments,
  kQueueTokens,
  kQueueOldest,
  kLeftOverDocuments,
  kLeftOverTokens,
  kLeftOverOldest,
  kDocumentDelay,
  kMicroBatches,
  kContextParallelImbalance,
  kEpoch,
  kNextStep,
  kDurableSteps,
  kKeptSteps,
  kReadySteps,
  kPayloadBytes,
  kSubscribers,
  kMaxLag,
  kMinLag,
  kTotalLag,
  kUnusedCredits,
  kProducers,
  kGroupMembers,
  kGroups,
  kGroupsStanding,
  kDecideSeconds,
  kCommitSeconds,
  kDeliverySeconds,
  kStepWait,
  kStepsTaken,
  kMeasuredOverPredicted,
  kMeasuredSteps,
  kEvenSeconds,
  kExcess,
  kAttentionOverPredicted,
  kLateWindowSteps,
  kLateRankSteps,
  kLateRankSeconds,
  kCostAttentionScale,
  kCostLinearScale,
  kCostObservations,
  kCostSeparable,
  kCostCalibrations,
  kEnd,  // not one: how many there are
};

namespace metric_names_internal {

using metric_table::Counter;
using metric_table::Gauge;
using metric_table::Group;
using metric_table::Histogram;

inline constexpr MetricDefinition kTable[] = {
    Gauge(Metric::kBuildInfo, "evenpack_build_info", {"version"},
          "Always 1; its label says which version runs."),
    Gauge(Metric::kJobs, "evenpack_jobs", {}, "Jobs that the server leads."),
    Gauge(Metric::kJobsLeftOut, "evenpack_jobs_left_out", {},
          "Jobs that no evenpack_job_ series shows, since there are too many."),
    Gauge(Metric::kBrokenJobs, "evenpack_broken_jobs", {},
          "Jobs that can't go on until somebody sees to them: those of the store that "
          "are damaged (DATA_LOSS), or of another version."),
    Gauge(Metric::kIngestStreams, "evenpack_ingest_streams", {},
          "Ingest calls that are open."),
    Counter(Metric::kIngestStreamsOpened, "evenpack_ingest_streams_opened_total", {},
            "Ingest calls opened."),
    Gauge(Metric::kStepStreams, "evenpack_step_streams", {},
          "StreamSteps calls that are open."),
    Counter(Metric::kStepStreamsOpened, "evenpack_step_streams_opened_total", {},
            "StreamSteps calls opened."),
    Gauge(Metric::kGroupStreams, "evenpack_group_streams", {},
          "JoinGroup calls that are open."),
    Counter(Metric::kGroupStreamsOpened, "evenpack_group_streams_opened_total", {},
            "JoinGroup calls opened."),
    Counter(Metric::kErrors, "evenpack_errors_total", {"code"},
            "Calls and streams that ended with an error, by status code."),
    Counter(Metric::kDeniedCalls, "evenpack_denied_calls_total", {"reason"},
            "Calls and streams that roles denied, by the reason told."),
    Gauge(Metric::kCertificateExpiry, "evenpack_certificate_expiry_timestamp_seconds",
          {},
          "When the gRPC port's certificate runs out, in seconds since 1970-01-01 UTC; "
          "not there without TLS."),
    Counter(Metric::kQuotaRefusals, "evenpack_quota_refusals_total", {"quota"},
            "Calls and streams that a quota of a peer or a job refused."),
    Counter(Metric::kStoreCommits, "evenpack_store_commits_total", {},
            "Transactions that the store committed; none in memory."),
    Counter(Metric::kStoreCommitFailures, "evenpack_store_commit_failures_total", {},
            "Transactions that the store failed to commit."),
    Counter(Metric::kStoreRecords, "evenpack_store_records_total", {},
            "Records that the store committed."),
    Counter(Metric::kStoreBytes, "evenpack_store_written_bytes_total", {},
            "Bytes of the records that the store committed."),
    Gauge(Metric::kStoreSize, "evenpack_store_size_bytes", {},
          "Size of the store's file and its log; 0 in memory."),
    Gauge(Metric::kStoreCommitAge, "evenpack_store_commit_age_seconds", {},
          "Time since the commit that is under way began; 0 while none is. One that "
          "grows is waiting for a disk or a database that hangs."),
    Gauge(
        Metric::kStoreAway, "evenpack_store_away", {},
        "1 while the server can't reach its database, or where its last commit, within "
        "ten minutes, failed; 0 else."),
    Counter(Metric::kJobsMoved, "evenpack_jobs_moved_total", {"how"},
            "Jobs that moved between the servers of a database: taken by this one, "
            "handed_over by it, or lost to another before it gave them."),
    Counter(Metric::kLeaderlessAnswers, "evenpack_leaderless_answers_total", {},
            "Calls told that no server leads their job just now."),

    Counter(Metric::kDocumentsAccepted, "evenpack_job_documents_accepted_total",
            {"job", "stream"}, "Documents accepted."),
    Counter(Metric::kTokensAccepted, "evenpack_job_tokens_accepted_total",
            {"job", "stream"}, "Tokens of the documents accepted."),
    Gauge(Metric::kBufferedDocuments, "evenpack_job_buffered_documents",
          {"job", "stream"}, "Documents accepted that no step has admitted."),
    Gauge(Metric::kBufferedTokens, "evenpack_job_buffered_tokens", {"job", "stream"},
          "Tokens accepted that no step has admitted."),
    Gauge(Metric::kBufferedBytes, "evenpack_job_buffered_bytes", {"job", "stream"},
          "Memory of the documents that no step has admitted."),
    Gauge(Metric::kStreamFull, "evenpack_job_stream_full", {"job", "stream"},
          "1 while the stream is full and its producers are not read from."),
    Gauge(Metric::kStreamEnded, "evenpack_job_stream_ended", {"job", "stream"},
          "1 once the stream has ended."),

    Counter(Metric::kSteps, "evenpack_job_steps_total", {"job", "kind"},
            "Steps committed, by what they were formed from."),
    Counter(Metric::kDocumentsEmitted, "evenpack_job_documents_emitted_total", {"job"},
            "Documents in committed steps."),
    Counter(Metric::kTokensEmitted, "evenpack_job_tokens_emitted_total", {"job"},
            "Tokens in committed steps, padding apart."),
    Counter(Metric::kPaddingEmitted, "evenpack_job_padding_tokens_emitted_total",
            {"job"}, "Padding tokens in committed steps."),
    Counter(Metric::kLongDocumentTokensEmitted,
            "evenpack_job_long_document_tokens_emitted_total", {"job"},
            "Tokens in committed steps of documents of a quarter window or more."),
    Counter(Metric::kStepMaxWorkload, "evenpack_job_step_max_workload_seconds_total",
            {"job", "packing"},
            "Predicted forward time of each full step's slowest micro-batch, summed."),
    Counter(Metric::kStepMeanWorkload, "evenpack_job_step_mean_workload_seconds_total",
            {"job", "packing"},
            "Predicted forward time of each full step's mean micro-batch, summed."),
    Histogram(
        Metric::kStepImbalance, "evenpack_job_step_imbalance", {"job", "packing"},
        "Slowest over mean micro-batch of each full step, by predicted forward time."),
    Histogram(Metric::kStepFill, "evenpack_job_step_fill_ratio", {"job"},
              "Tokens of each full step over those of a global batch."),
    Counter(Metric::kStepFillSquares, "evenpack_job_step_fill_ratio_squares_total",
            {"job"}, "Squares of these ratios, summed: for the spread of tokens."),
    Histogram(
        Metric::kStepLongDocumentShare, "evenpack_job_step_long_document_ratio",
        {"job"},
        "Share of each full step's tokens in documents of a quarter window or more."),
    Counter(Metric::kPredictedSteps, "evenpack_job_predicted_steps_total", {"job"},
            "Steps whose time on the whole cluster was predicted."),
    Counter(Metric::kPredictedStep, "evenpack_job_predicted_step_seconds_total",
            {"job"}, "Predicted time of these steps, summed."),
    Counter(Metric::kPredictedEvenStep,
            "evenpack_job_predicted_even_step_seconds_total", {"job"},
            "Predicted time of these steps, were they perfectly even, summed."),
    Counter(Metric::kPredictedExcess, "evenpack_job_predicted_excess_seconds_total",
            {"job", "cause"}, "Predicted time beyond that, by its cause, summed."),

    Gauge(Metric::kQueueDocuments, "evenpack_job_queue_documents", {"job", "queue"},
          "Documents in the delay queue; 0 has the shortest outliers."),
    Gauge(Metric::kQueueTokens, "evenpack_job_queue_tokens", {"job", "queue"},
          "Tokens in the delay queue."),
    Gauge(Metric::kQueueOldest, "evenpack_job_queue_oldest_batches", {"job", "queue"},
          "Global batches admitted since that of the queue's oldest document."),
    Gauge(Metric::kLeftOverDocuments, "evenpack_job_left_over_documents", {"job"},
          "Documents admitted that found no place and go into a later step."),
    Gauge(Metric::kLeftOverTokens, "evenpack_job_left_over_tokens", {"job"},
          "Tokens of the documents left over."),
    Gauge(Metric::kLeftOverOldest, "evenpack_job_left_over_oldest_batches", {"job"},
          "Global batches admitted since that of the oldest document left over."),
    Histogram(
        Metric::kDocumentDelay, "evenpack_job_document_delay_batches", {"job"},
        "Global batches admitted after a document's own before it was emitted whole."),
    Counter(Metric::kMicroBatches, "evenpack_job_micro_batches_total",
            {"job", "sharding"},
            "Micro-batches with documents in committed steps, by their sharding."),
    Histogram(Metric::kContextParallelImbalance,
              "evenpack_job_context_parallel_imbalance", {"job"},
              "Most loaded over mean CP rank of each micro-batch with documents, by "
              "attended pairs."),

    Gauge(Metric::kEpoch, "evenpack_job_epoch", {"job"},
          "Shape epoch: how often the job was reconfigured."),
    Gauge(Metric::kNextStep, "evenpack_job_next_step", {"job"},
          "Steps decided: the number of the next."),
    Gauge(Metric::kDurableSteps, "evenpack_job_durable_steps", {"job"},
          "Steps that every DP rank reported durable."),
    Gauge(Metric::kKeptSteps, "evenpack_job_kept_steps", {"job"},
          "Steps that can still be asked for."),
    Gauge(Metric::kReadySteps, "evenpack_job_ready_steps", {"job"},
          "Steps decided that no subscriber has been sent."),
    Gauge(Metric::kPayloadBytes, "evenpack_job_payload_bytes", {"job"},
          "Token ids held where the payload travels by value."),

    Gauge(Metric::kSubscribers, "evenpack_job_subscribers", {"job"},
          "Subscribers that are connected."),
    Gauge(Metric::kMaxLag, "evenpack_job_max_lag_steps", {"job"},
          "Steps decided that the slowest subscriber has not received."),
    Gauge(Metric::kMinLag, "evenpack_job_min_lag_steps", {"job"},
          "Steps decided that the fastest subscriber has not received."),
    Gauge(Metric::kTotalLag, "evenpack_job_lag_steps", {"job"},
          "Steps decided that subscribers have not received, summed over subscribers."),
    Gauge(Metric::kUnusedCredits, "evenpack_job_unused_credits", {"job"},
          "Steps that subscribers have asked for and not been sent."),
    Gauge(Metric::kProducers, "evenpack_job_producers", {"job"},
          "Producers that are connected."),
    Gauge(Metric::kGroupMembers, "evenpack_job_group_members", {"job"},
          "Ranks of context-parallel groups that are connected to the server."),
    Gauge(Metric::kGroups, "evenpack_job_groups", {"job"},
          "Context-parallel groups of which a rank is connected to the server."),
    Gauge(Metric::kGroupsStanding, "evenpack_job_groups_standing", {"job"},
          "Groups of which all ranks are connected to each other."),
    Histogram(Metric::kDecideSeconds, "evenpack_job_decide_seconds", {"job"},
              "Time to decide a step."),
    Histogram(Metric::kCommitSeconds, "evenpack_job_commit_seconds", {"job"},
              "Time to commit a job's events."),
    Histogram(Metric::kDeliverySeconds, "evenpack_job_delivery_seconds", {"job"},
              "Time to hand a step to a subscriber's transport, once it was decided "
              "and asked for."),
    Counter(Metric::kStepWait, "evenpack_job_step_wait_seconds_total", {"job"},
            "Time that trainers waited for a step, as they reported it."),
    Counter(Metric::kStepsTaken, "evenpack_job_steps_taken_total", {"job"},
            "Steps that trainers took, as they reported it."),
    Histogram(
        Metric::kMeasuredOverPredicted, "evenpack_job_measured_over_predicted_ratio",
        {"job"},
        "Measured over predicted forward time of each micro-batch, as first reported."),
    Counter(Metric::kMeasuredSteps, "evenpack_job_measured_steps_total", {"job"},
            "Steps of whose attention all ranks have reported."),
    Counter(
        Metric::kEvenSeconds, "evenpack_job_even_seconds_total", {"job"},
        "Time of a layer's attention of these steps, were all ranks equal, summed."),
    Counter(Metric::kExcess, "evenpack_job_excess_seconds_total", {"job", "cause"},
            "Time of a layer's attention beyond that, by its cause, summed."),
    Histogram(Metric::kAttentionOverPredicted,
              "evenpack_job_attention_over_predicted_ratio", {"job"},
              "Measured over predicted forward attention of each rank and step."),
    Gauge(Metric::kLateWindowSteps, "evenpack_job_late_window_steps", {"job"},
          "Last steps of whose attention all present ranks have reported, up to 64."),
    Gauge(Metric::kLateRankSteps, "evenpack_job_late_rank_steps",
          {"job", "dp_rank", "cp_rank"},
          "In how many of these steps the rank was the latest."),
    Gauge(Metric::kLateRankSeconds, "evenpack_job_late_rank_seconds",
          {"job", "dp_rank", "cp_rank"},
          "Mean time that it was late in these, of a layer's attention."),
    Gauge(Metric::kCostAttentionScale, "evenpack_job_cost_attention_scale",
          {"job", "scale"},
          "What the cost model's attention is multiplied by: applied, as measured, and "
          "suggested next."),
    Gauge(Metric::kCostLinearScale, "evenpack_job_cost_linear_scale", {"job", "scale"},
          "Likewise of the part that is linear in tokens."),
    Gauge(Metric::kCostObservations, "evenpack_job_cost_observations", {"job"},
          "Measured micro-batches that the scales are fitted to."),
    Gauge(Metric::kCostSeparable, "evenpack_job_cost_scales_separable", {"job"},
          "1 while these tell the two scales apart."),
    Counter(Metric::kCostCalibrations, "evenpack_job_cost_calibrations_total", {"job"},
            "Times that the job set its scales by itself."),
};
static_assert(metric_table::IsComplete<Metric>(kTable),
              "a row for each Metric, in order");

inline constexpr MetricGroup kGroups[] = {
    Group("Server", Metric::kBuildInfo),
    Group("Streams in", Metric::kDocumentsAccepted),
    Group("Steps out", Metric::kSteps),
    Group("Waiting documents and sharding", Metric::kQueueDocuments),
    Group("Progress", Metric::kEpoch),
    Group("Producers, subscribers and trainers", Metric::kSubscribers),
};

}  // namespace metric_names_internal

// In the order of the enumeration, which is that of /metrics.
inline constexpr std::span<const MetricDefinition> kMetrics(
    metric_names_internal::kTable);
inline constexpr std::span<const MetricGroup> kMetricGroups(
    metric_names_internal::kGroups);

constexpr std::span<const MetricDefinition> DefinitionsOf(Metric /*any*/) {
  return kMetrics;
}

}  // namespace evenpack

#endif  // EVENPACK_SERVER_METRICS_METRIC_NAMES_H_
