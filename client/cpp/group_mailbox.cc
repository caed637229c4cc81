#include "client/cpp/group_mailbox.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

namespace evenpack::client {

void GroupMailbox::Report(const MemberState& state) {
  state_ = state;
  epoch_ = std::max(epoch_, state.epoch);
  connects_ = false;
  is_to_give_up_ = false;
}

void GroupMailbox::Drop() {
  news_.clear();
  is_to_give_up_ = is_to_give_up_ || connects_;
}

void GroupMailbox::Deliver(GroupNews news) {
  if (news.kind == GroupNews::Kind::kGiveUp) {
    // There is no use in beginning with it.
    std::erase_if(news_, [&news](const GroupNews& earlier) {
      return earlier.epoch <= news.epoch;
    });
  }
  news_.push_back(std::move(news));
}

std::optional<GroupNews> GroupMailbox::Take() {
  if (std::exchange(is_to_give_up_, false)) {
    connects_ = false;
    return GroupNews{GroupNews::Kind::kGiveUp, epoch_, {}};
  }
  while (!news_.empty()) {
    GroupNews news = std::move(news_.front());
    news_.pop_front();
    if (IsAnswered(news)) continue;
    epoch_ = std::max(epoch_, news.epoch);
    // A call that is opened before the answer would tell what holds no longer.
    if (news.kind != GroupNews::Kind::kStands) state_.reset();
    connects_ = news.kind == GroupNews::Kind::kConnect;
    return news;
  }
  return std::nullopt;
}

bool GroupMailbox::IsAnswered(const GroupNews& news) const {
  const bool connected = state_.has_value() && state_->connected;
  switch (news.kind) {
    case GroupNews::Kind::kConnect:
      return false;
    case GroupNews::Kind::kStands:
      return !connected || news.epoch != epoch_;
    case GroupNews::Kind::kGiveUp:
      return news.epoch < epoch_ ||
             (news.epoch == epoch_ && state_.has_value() && !connected);
  }
  return false;
}

}  // namespace evenpack::client
