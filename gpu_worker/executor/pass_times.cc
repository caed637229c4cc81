#include "gpu_worker/executor/pass_times.h"

#include <chrono>
#include <utility>

namespace evenpack::worker {
namespace {

// Adds the time that it lives.
class Timed {
 public:
  Timed(const Clock& clock, int64_t& sum_ns)
      : clock_(clock), sum_ns_(sum_ns), begun_(clock.Now()) {}
  ~Timed() {
    const auto took =
        std::chrono::duration_cast<std::chrono::nanoseconds>(clock_.Now() - begun_);
    sum_ns_ += took.count();
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  const Clock& clock_;
  int64_t& sum_ns_;
  const Clock::TimePoint begun_;
};

class TimedTransfer final : public Transfer {
 public:
  TimedTransfer(std::unique_ptr<Transfer> transfer, const Clock& clock,
                PassTimes& times)
      : transfer_(std::move(transfer)), clock_(clock), times_(times) {}

  absl::Status Wait() override {
    const Timed timed(clock_, times_.waited_ns);
    return transfer_->Wait();
  }

 private:
  const std::unique_ptr<Transfer> transfer_;
  const Clock& clock_;
  PassTimes& times_;
};

}  // namespace

absl::Status TimedEngine::Forward(const AttentionCall& call,
                                  const ForwardResult& result) {
  const Timed timed(clock_, times_.computed_ns);
  return engine_.Forward(call, result);
}

absl::Status TimedEngine::Backward(const AttentionCall& call,
                                   const BackwardInput& input,
                                   const BackwardResult& result) {
  const Timed timed(clock_, times_.computed_ns);
  return engine_.Backward(call, input, result);
}

std::unique_ptr<Transfer> TimedCommunicator::Start(const Exchange& exchange) {
  return std::make_unique<TimedTransfer>(communicator_.Start(exchange), clock_, times_);
}

}  // namespace evenpack::worker
