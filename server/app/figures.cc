#include "server/app/figures.h"

#include <memory>

namespace evenpack {

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
  const CommitterFigures commits = committer_.Figures();
  figures.store_commits = commits.commits;
  figures.store_commit_failures = commits.failures;
  figures.store_records = commits.records;
  figures.store_bytes = commits.bytes;
  figures.store_size_bytes = store_.SizeBytes();
  return figures;
}

}  // namespace evenpack
