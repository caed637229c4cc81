#include "server/app/figures.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>

#include "server/metrics/metric_names.h"

namespace evenpack {

static_assert(std::equal(std::begin(kDeniedReasons), std::end(kDeniedReasons),
                         AccessControl::kReasons.begin(),
                         AccessControl::kReasons.end()));

std::vector<JobFigures> Figures::Jobs() const {
  std::vector<JobFigures> figures;
  for (const std::shared_ptr<Job>& job : jobs_.ByAge()) {
    figures.push_back(job->Figures());
  }
  return figures;
}

ServerFigures Figures::Server() const {
  ServerFigures figures;
  figures.ingest_streams = calls_.ingest.size();
  figures.step_streams = calls_.steps.size();
  figures.group_streams = calls_.groups.size();
  figures.ingest_streams_opened = calls_.ingest.opened();
  figures.step_streams_opened = calls_.steps.opened();
  figures.group_streams_opened = calls_.groups.opened();
  figures.errors_by_code = errors_.Figures();
  if (security_ != nullptr) {
    figures.certificate_expiry_seconds = security_->certificate_expiry();
    const AccessControl* const access = security_->access();
    if (access != nullptr) figures.denied_calls = access->DeniedCalls();
  }
  const std::array<uint64_t, kQuotas> refusals = quotas_.refusals();
  for (const Quota quota : kAllQuotas) {
    figures.quota_refusals.emplace_back(NameOf(quota).flag,
                                        refusals[static_cast<size_t>(quota)]);
  }
  const CommitterFigures commits = committer_.Figures();
  figures.store_commits = commits.commits;
  figures.store_commit_failures = commits.failures;
  figures.store_records = commits.records;
  figures.store_bytes = commits.bytes;
  figures.store_size_bytes = store_.SizeBytes();
  figures.store_commit_age_seconds = commits.age_seconds;
  figures.store_away = commits.failing || store_.IsAway();
  if (moves_ != nullptr) {
    const MoveFigures moves = moves_->Figures();
    figures.jobs_taken = moves.taken;
    figures.jobs_handed_over = moves.handed_over;
    figures.jobs_lost = moves.lost;
  }
  if (directory_ != nullptr) figures.leaderless_answers = directory_->leaderless();
  return figures;
}

}  // namespace evenpack
