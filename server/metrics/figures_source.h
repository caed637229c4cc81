// Where the exporter's figures come from.
#ifndef EVENPACK_SERVER_METRICS_FIGURES_SOURCE_H_
#define EVENPACK_SERVER_METRICS_FIGURES_SOURCE_H_

#include <vector>

#include "server/metrics/job_figures.h"

namespace evenpack {

// Thread-safe: scrapes may come at once.
class FiguresSource {
 public:
  virtual ~FiguresSource() = default;

  // Of all jobs, oldest first, so that a new job never takes an old one's place among
  // those shown.
  virtual std::vector<JobFigures> Jobs() const = 0;
  virtual ServerFigures Server() const = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_METRICS_FIGURES_SOURCE_H_
