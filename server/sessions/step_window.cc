#include "server/sessions/step_window.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/runtime/error_reason.h"
#include "server/runtime/status_detail.h"

namespace evenpack {

absl::Status StepLetGo(uint64_t step, uint64_t oldest) {
  return WithDetail(
      absl::OutOfRangeError(absl::StrCat("step: ", step,
                                         " was let go, as every rank has made it "
                                         "durable; the oldest kept is ",
                                         oldest)),
      {kStepLetGo, {{"oldest_step", absl::StrCat(oldest)}}});
}

void StepWindow::Publish(std::shared_ptr<const PublishedStep> step) {
  last_digest_ = step->step.digest;
  steps_.push_back(std::move(step));
}

void StepWindow::Withdraw(uint64_t from) {
  const std::optional<Digest128> digest = DigestBefore(from);
  if (!digest.has_value()) return;
  last_digest_ = *digest;
  steps_.resize(from - begin_);
}

std::vector<std::shared_ptr<const PublishedStep>> StepWindow::LetGo(uint64_t before) {
  std::vector<std::shared_ptr<const PublishedStep>> steps;
  while (begin_ < before && !steps_.empty()) {
    let_go_epoch_ = steps_.front()->step.epoch;
    steps.push_back(std::move(steps_.front()));
    steps_.pop_front();
    ++begin_;
  }
  return steps;
}

std::shared_ptr<const PublishedStep> StepWindow::Get(uint64_t index) const {
  if (index < begin_ || index >= end()) return nullptr;
  return steps_[index - begin_];
}

absl::StatusOr<std::shared_ptr<const PublishedStep>> StepWindow::Find(
    uint64_t index) const {
  if (index < begin_) return StepLetGo(index, begin_);
  if (index >= end()) {
    return WithDetail(
        absl::OutOfRangeError(absl::StrCat(
            "step: ", index, " is not decided yet; the next to be is ", end())),
        {"STEP_NOT_DECIDED", {{"next_step", absl::StrCat(end())}}});
  }
  return steps_[index - begin_];
}

std::optional<Digest128> StepWindow::DigestBefore(uint64_t index) const {
  if (index == end()) return last_digest_;
  if (index < begin_ || index > end()) return std::nullopt;
  return steps_[index - begin_]->previous;
}

std::optional<uint64_t> StepWindow::EpochBefore(uint64_t index) const {
  if (index == begin_) return let_go_epoch_;
  if (index < begin_ || index > end()) return std::nullopt;
  return steps_[index - begin_ - 1]->step.epoch;
}

}  // namespace evenpack
