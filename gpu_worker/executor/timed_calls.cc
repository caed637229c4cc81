#include "gpu_worker/executor/timed_calls.h"

#include <utility>

namespace evenpack::worker {
namespace {

class TimedTransfer final : public Transfer {
 public:
  TimedTransfer(std::unique_ptr<Transfer> transfer,
                const std::unique_ptr<PassTimer>& timer)
      : transfer_(std::move(transfer)), timer_(timer) {}

  absl::Status Wait() override {
    timer_->BeginWaiting();
    absl::Status status = transfer_->Wait();
    timer_->EndWaiting();
    return status;
  }

 private:
  const std::unique_ptr<Transfer> transfer_;
  const std::unique_ptr<PassTimer>& timer_;
};

}  // namespace

absl::Status TimedEngine::Forward(const AttentionCall& call,
                                  const ForwardResult& result) {
  timer_->BeginComputing();
  absl::Status status = engine_.Forward(call, result);
  timer_->EndComputing();
  return status;
}

absl::Status TimedEngine::Backward(const AttentionCall& call,
                                   const BackwardInput& input,
                                   const BackwardResult& result) {
  timer_->BeginComputing();
  absl::Status status = engine_.Backward(call, input, result);
  timer_->EndComputing();
  return status;
}

std::unique_ptr<Transfer> TimedCommunicator::Start(const Exchange& exchange) {
  return std::make_unique<TimedTransfer>(communicator_.Start(exchange), timer_);
}

}  // namespace evenpack::worker
