#include "server/runtime/failure_news.h"

#include <utility>

namespace evenpack {

FailureNews::Line FailureNews::After(const absl::Status& status) {
  if (status.ok()) {
    if (told_.empty()) return Line::kNone;
    told_.clear();
    return Line::kSucceedAgain;
  }
  std::string failure = status.ToString();
  if (failure == told_) return Line::kNone;
  const Clock::TimePoint now = clock_.Now();
  if (was_any_ && now - told_at_ < pause_) return Line::kNone;
  was_any_ = true;
  told_at_ = now;
  told_ = std::move(failure);
  return Line::kFailed;
}

}  // namespace evenpack
