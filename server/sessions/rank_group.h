// The rendezvous of a context-parallel group: how its ranks learn each other's
// addresses, and agree on when to connect anew.
#ifndef EVENPACK_SERVER_SESSIONS_RANK_GROUP_H_
#define EVENPACK_SERVER_SESSIONS_RANK_GROUP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"

namespace evenpack {

inline constexpr size_t kMaxMemberAddressBytes = 65536;
// That a group which knows of none so high takes from a member.
inline constexpr uint64_t kMaxGroupEpoch = uint64_t{1} << 62;

// What a rank says of itself when it joins, and again whenever its connections are
// lost.
struct MemberRequest {
  uint32_t cp_rank = 0;
  // Of this process alone: a rank that was restarted has another.
  std::string name;
  // Where its peers reach it, in bytes that they understand.
  std::string address;
  // The last epoch in which it was told to connect, 0 where in none; and whether its
  // connections of that epoch stand.
  uint64_t epoch = 0;
  bool connected = false;
};

// In the order of the ranks. Shared, since together they are as many times as large as
// there are members to be told.
using GroupAddresses = std::vector<std::string>;

// What a member does next: it waits,
struct AwaitPeers {};
// or connects, since all ranks are here. Each epoch is higher than those before.
struct ConnectPeers {
  uint64_t epoch = 0;
  std::shared_ptr<const GroupAddresses> addresses;
};
// or goes on, since the connections of all ranks stand: none is still being made,
struct EpochStands {
  uint64_t epoch = 0;
};
// or closes its connections of this epoch and joins again.
struct GiveUpEpoch {
  uint64_t epoch = 0;
};
using MemberMessage = std::variant<AwaitPeers, ConnectPeers, EpochStands, GiveUpEpoch>;

// Not thread-safe.
//
// It is kept in no store: after a restart of the server the members tell it the epoch
// they are in, and where all say the same nobody has to connect anew. Nor is a member
// dead because its call has ended: the group computes on, until a rank joins that is
// not connected.
class RankGroup {
 public:
  // Of 1 or more ranks.
  explicit RankGroup(uint32_t ranks) : members_(ranks) {}

  // `cp_rank` is one of the group. A member by another name takes the rank.
  // INVALID_ARGUMENT: an address that is empty or too long, an epoch that is too high,
  // a member that is connected in none.
  absl::Status Join(const MemberRequest& request);

  // The call of a member that has joined has ended: unless it is in a group that is
  // formed, it is not counted before it joins again.
  void Leave(uint32_t cp_rank);

  // What is news to a member that has joined, which counts as told.
  MemberMessage Next(uint32_t cp_rank);

  // Whether all ranks were told to connect, or said that they are.
  bool formed() const { return formed_; }
  // Whether all ranks said that they are.
  bool stands() const;
  // The last one that was formed, or that a member knows.
  uint64_t epoch() const { return epoch_; }

 private:
  enum class Standing {
    kAwaiting,  // peers
    kClaiming,  // to be in an epoch of which the group doesn't know
    kConnecting,
    kConnected,
    kGivingUp,
  };
  struct Member {
    MemberRequest request;
    Standing standing = Standing::kAwaiting;
    bool present = true;
    bool told = false;
  };

  Standing StandingOf(const MemberRequest& request) const;
  bool AllPresentAre(Standing standing) const;
  void BreakUp();
  void Form();
  bool ClaimsAgree() const;

  std::vector<std::optional<Member>> members_;
  // Those of the epoch: a member may join again with another before all were told.
  std::shared_ptr<const GroupAddresses> addresses_;
  uint64_t epoch_ = 0;
  bool formed_ = false;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SESSIONS_RANK_GROUP_H_
