// What a member and its group have told each other. Both may speak at once, so what the
// member hears is held against what it has said meanwhile.
#ifndef EVENPACK_CLIENT_CPP_GROUP_MAILBOX_H_
#define EVENPACK_CLIENT_CPP_GROUP_MAILBOX_H_

#include <cstdint>
#include <deque>
#include <optional>

#include "client/cpp/group_member.h"

namespace evenpack::client {

// Of one membership, call after call. Not thread-safe.
class GroupMailbox {
 public:
  // How the member stands from now on.
  void Report(const MemberState& state);
  // What a call is to tell: the last report, or none while a new one is being made, as
  // news that was taken has asked.
  const std::optional<MemberState>& state() const { return state_; }

  // The call has told this.
  void Deliver(GroupNews news);
  // The call is lost: the next one tells its news anew. A member that was told to
  // connect, and hasn't said how that went, is to give up: no call can be opened before
  // it reports, and that a peer is gone nobody would tell it.
  void Drop();
  // What the member is to hear next; none: nothing. That an epoch is to be given up, or
  // stands, it doesn't hear once a report of its own has answered that.
  std::optional<GroupNews> Take();

 private:
  bool IsAnswered(const GroupNews& news) const;

  std::optional<MemberState> state_;
  std::deque<GroupNews> news_;
  // The last that the member has heard or spoken of.
  uint64_t epoch_ = 0;
  // It has been told to connect, and neither reported since nor been told to give up.
  bool connects_ = false;
  bool is_to_give_up_ = false;
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_GROUP_MAILBOX_H_
