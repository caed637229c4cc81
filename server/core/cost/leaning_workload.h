// The workload by which micro-batches are balanced where attention's cost is known
// roughly.
#ifndef EVENPACK_SERVER_CORE_COST_LEANING_WORKLOAD_H_
#define EVENPACK_SERVER_CORE_COST_LEANING_WORKLOAD_H_

#include <cstdint>

#include "server/core/cost/workload_table.h"

namespace evenpack {

// A table with attention dearer than it says. Where attention costs more than modelled
// a few micro-batches of long documents are the heaviest, and all others wait for them;
// where it costs less, the many others are, and few wait. So it pays to lean to the
// former. Thread-safe; the table must outlive it.
class LeaningWorkload {
 public:
  // Dearer by so many 256ths, 0 to 255. Implicit, since a table is one that leans by 0.
  // NOLINTNEXTLINE(google-explicit-constructor,misc-explicit-constructor): see above.
  LeaningWorkload(const WorkloadTable& table, uint32_t dearer_256ths = 0)
      : table_(table), dearer_256ths_(dearer_256ths) {}

  int64_t AttentionNs(uint32_t length) const {
    const int64_t attention = table_.AttentionNs(length);
    return attention + attention / 256 * dearer_256ths_;
  }
  int64_t LinearNs(uint64_t tokens) const { return table_.LinearNs(tokens); }
  uint32_t max_tokens() const { return table_.max_tokens(); }
  const WorkloadTable& table() const { return table_; }

 private:
  const WorkloadTable& table_;
  const int64_t dearer_256ths_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_COST_LEANING_WORKLOAD_H_
