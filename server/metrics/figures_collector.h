// What /metrics answers: the figures of the jobs, the server and its process as
// Prometheus reads them.
//
//   FiguresCollector collector(source, {.version = "0.1.0"});
//   std::string text = collector.Text();
#ifndef EVENPACK_SERVER_METRICS_FIGURES_COLLECTOR_H_
#define EVENPACK_SERVER_METRICS_FIGURES_COLLECTOR_H_

#include <prometheus/collectable.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "server/metrics/figures_source.h"
#include "server/metrics/process_figures.h"

namespace evenpack {

struct FiguresCollectorOptions {
  std::string version;
  // Jobs shown; 0 shows none. Those beyond are counted and left out, the newest first.
  // They aren't summed: the sum would fall when one of them is deleted, which rate()
  // takes for a restart.
  size_t max_jobs = 200;
  // Thread-safe.
  std::function<ProcessFigures()> process = ReadProcessFigures;
};

// Thread-safe.
class FiguresCollector final : public prometheus::Collectable {
 public:
  // `source` outlives the collector.
  FiguresCollector(const FiguresSource& source, FiguresCollectorOptions options);

  std::vector<prometheus::MetricFamily> Collect() const override;
  // Collect() in the text format, version 0.0.4.
  std::string Text() const;

 private:
  const FiguresSource& source_;
  const FiguresCollectorOptions options_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_METRICS_FIGURES_COLLECTOR_H_
