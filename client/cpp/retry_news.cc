#include "client/cpp/retry_news.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/runtime/mutex.h"

namespace evenpack::client {
namespace {

// In whole ones, since waits are drawn at random.
int64_t Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::round<std::chrono::seconds>(duration).count();
}

// Which of the news are told. Thread-safe.
class PacedNews {
 public:
  PacedNews(RetryPace pace, const Clock& clock) : pace_(pace), clock_(clock) {}

  bool IsDue(const RetryNews& news) {
    MutexLock lock(mutex_);
    if (news.why.ok()) {
      if (told_ != news.what) return false;
      told_.reset();
      return true;
    }
    const Clock::TimePoint now = clock_.Now();
    if (news.failing < pace_.quiet) return false;
    if (told_.has_value() && now - told_at_ < pace_.between) return false;
    told_ = news.what;
    told_at_ = now;
    return true;
  }

 private:
  const RetryPace pace_;
  const Clock& clock_;
  Mutex mutex_;
  // What was told to fail last and has not succeeded since.
  std::optional<std::string> told_ EVENPACK_GUARDED_BY(mutex_);
  Clock::TimePoint told_at_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace

std::string TextOf(const RetryNews& news) {
  const int64_t failing = Seconds(news.failing);
  if (news.why.ok()) {
    return absl::StrCat(news.what, " works again after ", failing, " s of failing");
  }
  return absl::StrCat(news.what, " has failed for ", failing, " s and is tried for ",
                      Seconds(news.left),
                      " s more: ", absl::StatusCodeToString(news.why.code()), ": ",
                      news.why.message());
}

RetryListener Seldom(RetryPace pace, RetryListener listener, const Clock& clock) {
  return [paced = std::make_shared<PacedNews>(pace, clock),
          listener = std::move(listener)](const RetryNews& news) {
    if (paced->IsDue(news)) listener(news);
  };
}

}  // namespace evenpack::client
