// Percentiles by nearest rank: the least value that at least that share of all values
// does not exceed. Always a value that occurred.
#ifndef EVENPACK_CLIENT_CLI_PERCENTILE_H_
#define EVENPACK_CLIENT_CLI_PERCENTILE_H_

#include <cstdint>
#include <map>
#include <span>

namespace evenpack {

// `sorted` rises and is not empty; percent is 1 to 100.
double Percentile(std::span<const double> sorted, int percent);

// How often each value occurred, for many values of few kinds.
class Histogram {
 public:
  void Add(uint64_t value) {
    ++counts_[value];
    ++total_;
  }
  // 0 without values. percent is 1 to 100.
  uint64_t Percentile(int percent) const;

 private:
  std::map<uint64_t, uint64_t> counts_;
  uint64_t total_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_PERCENTILE_H_
