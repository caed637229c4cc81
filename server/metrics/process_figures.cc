#include "server/metrics/process_figures.h"

#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>

namespace evenpack {
namespace {

// Those fields of /proc/self/stat that are wanted, numbered as proc(5) does.
struct ProcessStat {
  double start_ticks = 0;    // 22: since the system's boot
  double virtual_bytes = 0;  // 23
};

std::optional<ProcessStat> ReadProcessStat() {
  std::ifstream file("/proc/self/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  // Field 2 is the program's name in parentheses, which may hold anything.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  ProcessStat stat;
  fields >> stat.start_ticks >> stat.virtual_bytes;
  if (!fields) return std::nullopt;
  return stat;
}

// Seconds since 1970-01-01 UTC.
std::optional<double> ReadBootTime() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string name;
    double seconds = 0;
    if (fields >> name >> seconds && name == "btime") return seconds;
  }
  return std::nullopt;
}

std::optional<double> CountOpenFds() {
  std::error_code error;
  std::filesystem::directory_iterator entry("/proc/self/fd", error);
  double count = 0;
  for (; !error && entry != std::filesystem::directory_iterator();
       entry.increment(error)) {
    ++count;
  }
  if (error) return std::nullopt;
  return count - 1;  // the iterator's own
}

}  // namespace

ProcessFigures ReadProcessFigures() {
  ProcessFigures figures;
  if (const std::optional<ProcessStat> stat = ReadProcessStat()) {
    figures.virtual_bytes = stat->virtual_bytes;
    if (const std::optional<double> boot_time = ReadBootTime()) {
      figures.start_time_seconds =
          *boot_time + stat->start_ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
    }
  }
  if (const std::optional<uint64_t> resident = ResidentBytes()) {
    figures.resident_bytes = static_cast<double>(*resident);
  }
  timespec cpu{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0) {
    figures.cpu_seconds =
        static_cast<double>(cpu.tv_sec) + static_cast<double>(cpu.tv_nsec) * 1e-9;
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    figures.max_fds = static_cast<double>(limit.rlim_cur);
  }
  figures.open_fds = CountOpenFds();
  return figures;
}

std::optional<uint64_t> ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t virtual_pages = 0;
  uint64_t resident_pages = 0;
  if (!(file >> virtual_pages >> resident_pages)) return std::nullopt;
  return resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace evenpack
