// Takes documents in merged order until a window is full.
#ifndef EVENPACK_SERVER_CORE_ENGINE_ADMISSION_H_
#define EVENPACK_SERVER_CORE_ENGINE_ADMISSION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "server/core/document/document.h"
#include "server/core/engine/job_state.h"
#include "server/core/engine/merge.h"

namespace evenpack {

struct Admission {
  // In merged order, `order` and `batch` set, cut at LongestDocument() where the job
  // says so.
  std::vector<Document> documents;
  // Sum of their lengths.
  uint64_t tokens = 0;
  // Global batches that this counts as.
  uint64_t batches = 0;
  // All streams have ended and nothing is left to admit.
  bool exhausted = false;
  // MergeReader::awaited.
  std::optional<size_t> awaited;
  // The merge after it, and per stream how many buffered documents it took.
  MergeCursor merge;
  std::vector<uint64_t> taken;
};

Admission NoAdmission(const JobState& state);

// Documents until their tokens reach `target`; the one that reaches it belongs to it.
// Fewer where all streams are exhausted. Where the merge waits for a stream before
// that, only `tokens`, `exhausted` and `awaited` are set.
Admission Admit(const JobState& state, uint64_t target);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_ADMISSION_H_
