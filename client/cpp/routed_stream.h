// A bidirectional call to whichever server leads the job that it is about.
#ifndef EVENPACK_CLIENT_CPP_ROUTED_STREAM_H_
#define EVENPACK_CLIENT_CPP_ROUTED_STREAM_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/cpp/job_of_request.h"
#include "client/cpp/leader_map.h"
#include "client/cpp/route.h"
#include "client/cpp/stub.h"
#include "server/runtime/mutex.h"

namespace evenpack::client {

// Begins with the first message, which says what job it is about. Until a server has
// answered, what was written is kept, and is written again to the server that another
// names. A call that ends after that is the session's to open again, which knows from
// where: the next one begins with the server that this one's end named.
template <typename Request, typename Response>
class RoutedStream final : public MessageStream<Request, Response> {
 public:
  using Stream = MessageStream<Request, Response>;
  using Open = std::function<std::shared_ptr<Stream>(const std::string& address)>;

  RoutedStream(std::shared_ptr<LeaderMap> leaders, Open open)
      : leaders_(std::move(leaders)), open_(std::move(open)) {}

  void Write(const Request& message) override {
    MutexLock lock(mutex_);
    Begin(JobOfRequest(message));
    if (!answered_ && !writes_done_) written_.push_back(message);
    stream_->Write(message);
  }
  void WritesDone() override {
    MutexLock lock(mutex_);
    Begin("");
    writes_done_ = true;
    stream_->WritesDone();
  }
  void AwaitUnsentBelow(size_t messages) override {
    // A call that another takes the place of has ended, for which this doesn't wait.
    if (const auto stream = Current()) stream->AwaitUnsentBelow(messages);
  }
  size_t unsent() const override {
    const auto stream = Current();
    return stream == nullptr ? 0 : stream->unsent();
  }

  bool Read(Response& message) override {
    for (;;) {
      const std::shared_ptr<Stream> stream = Begun();
      if (stream->Read(message)) {
        Answered();
        return true;
      }
      if (!GoesElsewhere(stream->Finish())) return false;
    }
  }
  absl::Status Finish() override {
    {
      MutexLock lock(mutex_);
      if (ended_.has_value()) return *ended_;
    }
    return Begun()->Finish();
  }

 private:
  std::shared_ptr<Stream> Current() const {
    MutexLock lock(mutex_);
    return stream_;
  }
  std::shared_ptr<Stream> Begun() {
    MutexLock lock(mutex_);
    Begin("");
    return stream_;
  }
  void Begin(const std::string& job) EVENPACK_REQUIRES(mutex_) {
    if (stream_ != nullptr) return;
    route_.emplace(*leaders_, job);
    stream_ = open_(route_->address());
  }

  void Answered() {
    MutexLock lock(mutex_);
    answered_ = true;
    written_.clear();
  }

  bool GoesElsewhere(const absl::Status& status) {
    // Its end is awaited under no lock.
    std::shared_ptr<Stream> last;
    MutexLock lock(mutex_);
    const bool goes_on = !status.ok() && route_->Follow(status);
    if (!goes_on || answered_) {
      ended_ = answered_ ? status : route_->Explained(status);
      return false;
    }
    last = std::exchange(stream_, open_(route_->address()));
    for (const Request& message : written_) stream_->Write(message);
    if (writes_done_) stream_->WritesDone();
    return true;
  }

  const std::shared_ptr<LeaderMap> leaders_;
  const Open open_;

  mutable Mutex mutex_;
  std::optional<Route> route_ EVENPACK_GUARDED_BY(mutex_);
  std::shared_ptr<Stream> stream_ EVENPACK_GUARDED_BY(mutex_);
  // Until the first answer.
  std::vector<Request> written_ EVENPACK_GUARDED_BY(mutex_);
  bool writes_done_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool answered_ EVENPACK_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> ended_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_ROUTED_STREAM_H_
