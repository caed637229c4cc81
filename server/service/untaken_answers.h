// Answers of unary calls that their peers have yet to take.
#ifndef EVENPACK_SERVER_SERVICE_UNTAKEN_ANSWERS_H_
#define EVENPACK_SERVER_SERVICE_UNTAKEN_ANSWERS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "server/runtime/mutex.h"

namespace evenpack {

// An answer counts as one call, and as one more for each so many bytes that it takes in
// memory.
inline constexpr uint64_t kAnswerBytesOfACall = uint64_t{256} << 10;
// The transport tells of an answer's way a moment after the peer has it, so a peer that
// may have few calls may have more answers.
inline constexpr uint64_t kLeastUntakenAnswers = 256;

// Thread-safe. Remembers those peers alone that have some.
class UntakenAnswers {
 public:
  // For peers that may have so many calls under way; 0: as many as they like.
  explicit UntakenAnswers(uint64_t max_calls);

  // As how many calls the answers may count; 0: any number.
  uint64_t limit() const { return limit_; }
  // False where the peer's count as many: it shall take some before it calls again.
  bool HasRoom(const std::string& peer) const;
  void Add(const std::string& peer, uint64_t bytes);
  // What was added, once it is on its way or given up.
  void Remove(const std::string& peer, uint64_t bytes);
  // Peers that are remembered.
  size_t size() const;

 private:
  const uint64_t limit_;
  mutable Mutex mutex_;
  std::map<std::string, uint64_t> calls_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_UNTAKEN_ANSWERS_H_
