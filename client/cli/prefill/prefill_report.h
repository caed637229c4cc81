// What `pack --mode prefill` reports, as JSON and as text.
#ifndef EVENPACK_CLIENT_CLI_PREFILL_PREFILL_REPORT_H_
#define EVENPACK_CLIENT_CLI_PREFILL_PREFILL_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/prefill/batch_former.h"
#include "client/cli/prefill/prefill_run.h"

namespace evenpack {

struct PrefillReport {
  struct Row {
    Discipline discipline = Discipline::kFirstCome;
    PrefillFigures figures;
  };

  // "poisson", "bursty", or the file's name.
  std::string arrivals;
  // Requests a second; none of a file.
  std::optional<double> rate;
  uint64_t seed = 0;
  BatchLimits limits;
  std::optional<uint64_t> max_delay;
  // None where all arrive at once.
  std::optional<double> offered_load;
  std::vector<Row> rows;
};

std::string PrefillJson(const PrefillReport& report);
std::string PrefillText(const PrefillReport& report);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_PREFILL_PREFILL_REPORT_H_
