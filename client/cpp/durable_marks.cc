#include "client/cpp/durable_marks.h"

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::client {

DurableMarks DurableMarks::Behind(std::optional<uint64_t> next,
                                  std::optional<uint64_t> epoch) {
  DurableMarks marks;
  if (next.value_or(0) > 0 && epoch.has_value()) marks.HandedOut(*next - 1, *epoch);
  return marks;
}

void DurableMarks::HandedOut(uint64_t step, uint64_t epoch) {
  if (epochs_.empty() || epochs_.back().epoch != epoch) {
    epochs_.push_back({step, epoch});
  }
  handed_out_end_ = step + 1;
}

absl::Status DurableMarks::Wanted(uint64_t step) {
  if (epochs_.empty())
    return InvalidField("step", step, "none: no step was handed out");
  const uint64_t first = epochs_.front().step;
  if (step < first || step >= handed_out_end_) {
    return InvalidField("step", step,
                        absl::StrCat(first, " to ", handed_out_end_ - 1,
                                     ", the steps that were handed out"));
  }
  if (wanted_.has_value() && step <= wanted_->step) return absl::OkStatus();
  uint64_t epoch = 0;
  for (const Mark& mark : epochs_) {
    if (mark.step <= step) epoch = mark.epoch;
  }
  wanted_ = Mark{step, epoch};
  return absl::OkStatus();
}

void DurableMarks::Released(const Mark& mark) {
  if (!released_.has_value() || released_->step < mark.step) released_ = mark;
}

std::optional<DurableMarks::Mark> DurableMarks::Unconfirmed(
    const std::optional<Mark>& mark) const {
  if (!mark.has_value() || mark->step < durable_steps_) return std::nullopt;
  return mark;
}

}  // namespace evenpack::client
