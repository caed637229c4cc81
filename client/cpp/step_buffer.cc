#include "client/cpp/step_buffer.h"

#include <algorithm>
#include <utility>

namespace evenpack::client {

uint32_t StepBuffer::credits() const {
  return static_cast<uint32_t>(std::min<uint64_t>(bounds_.credits, bounds_.steps));
}

bool StepBuffer::Fits(uint64_t steps) const {
  return steps_.size() + steps <= bounds_.steps &&
         bytes_ + steps * largest_ <= bounds_.bytes;
}

void StepBuffer::BeginCall(uint64_t from_step) {
  came_end_ = from_step;
  received_end_ = from_step;
}

void StepBuffer::Push(RankStep step) {
  const uint64_t bytes = step.memory_bytes();
  came_end_ = step.index() + 1;
  bytes_ += bytes;
  largest_ = std::max(largest_, bytes);
  steps_.push_back({std::move(step), bytes});
}

RankStep StepBuffer::Pop() {
  Held held = std::move(steps_.front());
  steps_.pop_front();
  bytes_ -= held.bytes;
  return std::move(held.step);
}

void StepBuffer::Clear() {
  steps_.clear();
  bytes_ = 0;
}

std::optional<uint64_t> StepBuffer::TakeReceived() {
  const uint64_t before = received_end_;
  while (received_end_ < came_end_ &&
         ((empty() && granted() == 0) || Fits(granted() + 1))) {
    ++received_end_;
  }
  if (received_end_ == before) return std::nullopt;
  return received_end_ - 1;
}

}  // namespace evenpack::client
