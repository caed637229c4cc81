#include "tests/server/metrics/fake_figures.h"

#include <utility>

namespace evenpack::testing {

JobFigures FilledJob(std::string name) {
  JobFigures job;
  job.job = std::move(name);
  job.broken = true;
  job.streams = {{"web", 101, 102, 103, 104, 105, true, false},
                 {"code", 201, 202, 203, 204, 205, false, true}};
  job.queues = {{301, 302, 303}, {311, 312, 313}};
  job.left_over_documents = 401;
  job.left_over_tokens = 402;
  job.left_over_oldest_batches = 403;
  job.steps = {501, 502, 503};
  job.documents_emitted = 601;
  job.tokens_emitted = 602;
  job.padding_emitted = 603;
  job.long_document_tokens_emitted = 604;
  job.policy.max_workload_seconds = 701.5;
  job.policy.mean_workload_seconds = 702.5;
  job.policy.imbalance.Observe(1.0078125, 3);
  job.original.max_workload_seconds = 711.5;
  job.original.mean_workload_seconds = 712.5;
  job.original.imbalance.Observe(1.4375, 4);
  job.step_fill.Observe(0.96875, 5);
  job.step_fill_squares = 4.75;
  job.long_document_share.Observe(0.375, 6);
  job.prediction.possible = true;
  job.prediction.steps = 721;
  job.prediction.step_seconds = 722.5;
  job.prediction.even_seconds = 723.5;
  job.prediction.seconds = {724.5, 725.5, 726.5, 727.5};
  job.document_delay.Observe(0, 7);
  job.document_delay.Observe(10, 2);
  job.shardings = {801, 802, 803, 804};
  job.context_parallel_imbalance.Observe(1.25, 8);
  job.epoch = 901;
  job.next_step = 902;
  job.durable_steps = 903;
  job.kept_steps = 904;
  job.ready_steps = 906;
  job.payload_bytes = 905;
  job.subscribers = 1001;
  job.max_lag_steps = 1002;
  job.min_lag_steps = 1009;
  job.total_lag_steps = 1003;
  job.unused_credits = 1004;
  job.producers = 1005;
  job.group_members = 1006;
  job.groups = 1007;
  job.groups_standing = 1008;
  job.decide_seconds.Observe(0.0009765625, 9);
  job.commit_seconds.Observe(0.03125, 10);
  job.delivery_seconds.Observe(11, 11);
  job.step_wait_seconds = 1101.25;
  job.steps_taken = 1102;
  job.measured_over_predicted.Observe(1.125, 12);
  job.excess.steps = 1201;
  job.excess.even_seconds = 1202.5;
  job.excess.seconds = {1203.5, 1204.5, 1205.5, 1206.5};
  job.excess.attention_over_predicted.Observe(0.875, 13);
  job.excess.window_steps = 64;
  job.excess.late_ranks = {{3, 1, 40, 0.125}, {0, 2, 9, 0.0625}};
  job.calibration.applied = {1.5, 1.25};
  job.calibration.measured = {2.25, 1.375};
  job.calibration.suggested = {1.875, 1.375};
  job.calibration.observations = 1301;
  job.calibration.separable = true;
  job.calibration.calibrations = 1302;
  return job;
}

ServerFigures FilledServer() {
  ServerFigures server;
  server.ingest_streams = 1;
  server.step_streams = 2;
  server.group_streams = 12;
  server.ingest_streams_opened = 3;
  server.step_streams_opened = 4;
  server.group_streams_opened = 14;
  server.store_commits = 5;
  server.store_commit_failures = 6;
  server.store_records = 7;
  server.store_bytes = 8;
  server.store_size_bytes = 9;
  server.store_commit_age_seconds = 9.5;
  server.store_away = true;
  server.jobs_taken = 15;
  server.jobs_handed_over = 16;
  server.jobs_lost = 17;
  server.leaderless_answers = 18;
  for (size_t code = 0; code < server.errors_by_code.size(); ++code) {
    server.errors_by_code[code] = 20 + code;
  }
  server.denied_calls = {11, 12, 13};
  server.certificate_expiry_seconds = 14;
  server.quota_refusals = {{"max-peer-calls", 40}, {"max-job-step-streams", 41}};
  return server;
}

ProcessFigures FilledProcess() {
  ProcessFigures process;
  process.start_time_seconds = 1.7e9 + 0.25;
  process.cpu_seconds = 12.5;
  process.resident_bytes = 65536;
  process.virtual_bytes = 131072;
  process.open_fds = 17;
  process.max_fds = 1024;
  return process;
}

FiguresCollectorOptions FilledOptions() {
  FiguresCollectorOptions options;
  options.version = "1.2.3";
  options.process = FilledProcess;
  return options;
}

}  // namespace evenpack::testing
