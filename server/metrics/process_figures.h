// What the operating system says about this process.
#ifndef EVENPACK_SERVER_METRICS_PROCESS_FIGURES_H_
#define EVENPACK_SERVER_METRICS_PROCESS_FIGURES_H_

#include <cstdint>
#include <optional>

namespace evenpack {

// Those that the system doesn't tell are not set.
struct ProcessFigures {
  std::optional<double> start_time_seconds;  // since 1970-01-01 UTC
  std::optional<double> cpu_seconds;         // user and system
  std::optional<double> resident_bytes;
  std::optional<double> virtual_bytes;
  std::optional<double> open_fds;
  std::optional<double> max_fds;
};

// Reads /proc of Linux. Thread-safe.
ProcessFigures ReadProcessFigures();

// Of these the resident memory alone, which takes a few microseconds. Thread-safe.
std::optional<uint64_t> ResidentBytes();

}  // namespace evenpack

#endif  // EVENPACK_SERVER_METRICS_PROCESS_FIGURES_H_
