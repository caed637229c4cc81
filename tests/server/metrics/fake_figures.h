// Figures to export, and a source of them.
#ifndef EVENPACK_TESTS_SERVER_METRICS_FAKE_FIGURES_H_
#define EVENPACK_TESTS_SERVER_METRICS_FAKE_FIGURES_H_

#include <string>
#include <vector>

#include "server/metrics/figures_collector.h"
#include "server/metrics/figures_source.h"
#include "server/metrics/job_figures.h"
#include "server/metrics/process_figures.h"

namespace evenpack::testing {

struct FakeFigures final : FiguresSource {
  std::vector<JobFigures> jobs;
  ServerFigures server;

  std::vector<JobFigures> Jobs() const override { return jobs; }
  ServerFigures Server() const override { return server; }
};

// No two of their figures are alike, and none is 0.
JobFigures FilledJob(std::string name);
ServerFigures FilledServer();
ProcessFigures FilledProcess();

// With FilledProcess and a version.
FiguresCollectorOptions FilledOptions();

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_METRICS_FAKE_FIGURES_H_
