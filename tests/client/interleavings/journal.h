// What chance decides in a test, and what then came about.
#ifndef EVENPACK_TESTS_CLIENT_INTERLEAVINGS_JOURNAL_H_
#define EVENPACK_TESTS_CLIENT_INTERLEAVINGS_JOURNAL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <iostream>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/runtime/mutex.h"
#include "tests/testing/test_documents.h"

namespace evenpack::testing {

// Not thread-safe.
class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  // 0 to `most`.
  uint32_t Draw(uint32_t most) { return testing::Draw(random_, 0, most); }
  bool Coin() { return Draw(1) == 0; }
  // One of them; there is one.
  template <typename Container>
  auto& OneOf(Container& of) {
    return of[Draw(static_cast<uint32_t>(of.size()) - 1)];
  }

 private:
  std::mt19937_64 random_;
};

// For whoever looks into a failure. Thread-safe.
class Journal {
 public:
  template <typename... Args>
  void Note(const Args&... args) {
    MutexLock lock(mutex_);
    lines_.push_back(absl::StrCat(args...));
    if (lines_.size() > kMostLines) lines_.pop_front();
  }
  void Print() const {
    MutexLock lock(mutex_);
    for (const std::string& line : lines_) std::cerr << line << "\n";
  }

 private:
  static constexpr size_t kMostLines = 2000;

  mutable Mutex mutex_;
  std::deque<std::string> lines_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_CLIENT_INTERLEAVINGS_JOURNAL_H_
