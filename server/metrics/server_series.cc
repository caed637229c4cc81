#include "server/metrics/server_series.h"

#include <cstddef>
#include <iterator>

#include "absl/status/status.h"
#include "server/metrics/metric_names.h"

namespace evenpack {

void AddServerSeries(const ServerFigures& server, MetricFamilies& families) {
  families.AddCount(Metric::kIngestStreams, {}, server.ingest_streams);
  families.AddCount(Metric::kIngestStreamsOpened, {}, server.ingest_streams_opened);
  families.AddCount(Metric::kStepStreams, {}, server.step_streams);
  families.AddCount(Metric::kStepStreamsOpened, {}, server.step_streams_opened);
  families.AddCount(Metric::kGroupStreams, {}, server.group_streams);
  families.AddCount(Metric::kGroupStreamsOpened, {}, server.group_streams_opened);
  // 0 is OK.
  for (size_t code = 1; code < server.errors_by_code.size(); ++code) {
    families.AddCount(Metric::kErrors,
                      {absl::StatusCodeToString(static_cast<absl::StatusCode>(code))},
                      server.errors_by_code[code]);
  }
  for (size_t reason = 0; reason < std::size(kDeniedReasons); ++reason) {
    families.AddCount(Metric::kDeniedCalls, {kDeniedReasons[reason]},
                      server.denied_calls[reason]);
  }
  if (const auto& expiry = server.certificate_expiry_seconds; expiry.has_value()) {
    families.AddValue(Metric::kCertificateExpiry, {}, static_cast<double>(*expiry));
  }
  for (const auto& [quota, refusals] : server.quota_refusals) {
    families.AddCount(Metric::kQuotaRefusals, {quota}, refusals);
  }
  families.AddCount(Metric::kStoreCommits, {}, server.store_commits);
  families.AddCount(Metric::kStoreCommitFailures, {}, server.store_commit_failures);
  families.AddCount(Metric::kStoreRecords, {}, server.store_records);
  families.AddCount(Metric::kStoreBytes, {}, server.store_bytes);
  families.AddCount(Metric::kStoreSize, {}, server.store_size_bytes);
  families.AddValue(Metric::kStoreCommitAge, {}, server.store_commit_age_seconds);
  families.AddCount(Metric::kStoreAway, {}, server.store_away ? 1 : 0);
  families.AddCount(Metric::kJobsMoved, {kMoveTaken}, server.jobs_taken);
  families.AddCount(Metric::kJobsMoved, {kMoveHandedOver}, server.jobs_handed_over);
  families.AddCount(Metric::kJobsMoved, {kMoveLost}, server.jobs_lost);
  families.AddCount(Metric::kLeaderlessAnswers, {}, server.leaderless_answers);
}

}  // namespace evenpack
