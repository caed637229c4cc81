// The context-parallel groups of a job, and the calls of their members.
#ifndef EVENPACK_SERVER_SESSIONS_GROUP_TABLE_H_
#define EVENPACK_SERVER_SESSIONS_GROUP_TABLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/runtime/mutex.h"
#include "server/sessions/rank_group.h"
#include "server/sessions/subscription.h"

namespace evenpack {

// evenpack.v1.OpenGroup without its job: which rank a call is for, and whose it is.
struct GroupSeat {
  uint32_t dp_rank = 0;
  // Ranks of the group.
  uint32_t cp_size = 1;
  uint32_t cp_rank = 0;
  std::string member;
};

// evenpack.v1.MemberState: what a member says whenever it changes. As MemberRequest.
struct MemberState {
  std::string address;
  uint64_t epoch = 0;
  bool connected = false;
};

// INVALID_ARGUMENT: no such cp_rank, or a member's name that is empty or too long.
absl::Status CheckSeat(const GroupSeat& seat);

struct GroupFigures {
  // Those that have a member, and of these those that stand.
  uint64_t groups = 0;
  uint64_t standing = 0;
  uint64_t members = 0;
};

// Thread-safe. A group is there while a call of one of its members is: members that
// come back tell all that it knew.
class GroupTable {
 public:
  using Members = std::vector<std::shared_ptr<Subscriber>>;

  // What the member of a call says first, by which it takes the seat, which has passed
  // CheckSeat. Returns those who may have news, to be woken under no lock: Next() has
  // it. INVALID_ARGUMENT as RankGroup::Join; ABORTED where a newer call has the seat;
  // the status of EndAll.
  absl::StatusOr<Members> Join(const GroupSeat& seat, const MemberState& state,
                               const std::shared_ptr<Subscriber>& call);
  // What it says later. As Join, and as Next where the call ends.
  absl::StatusOr<Members> Tell(const GroupSeat& seat, const MemberState& state,
                               const Subscriber& call);
  // What is news for a call that has joined, or how it ends: ABORTED where a newer one
  // has its seat; the status of EndThoseThatWait or EndAll.
  absl::StatusOr<MemberMessage> Next(const GroupSeat& seat, const Subscriber& call);
  // The call has ended, whether it joined or not.
  void Leave(const GroupSeat& seat, const Subscriber& call);
  // Calls of groups of which a rank has none here end with this, since that one may be
  // at another server. Others, and those that come, go on. Returns as Tell.
  Members EndThoseThatWait(const absl::Status& status);
  // From here on all calls end with this. Returns as Tell.
  Members EndAll(absl::Status status);

  GroupFigures Figures() const;

 private:
  // A group is one of a size: a job that is reshaped has others from then on.
  using Key = std::pair<uint32_t, uint32_t>;  // dp_rank, cp_size
  struct Group {
    explicit Group(uint32_t size) : ranks(size), calls(size) {}
    RankGroup ranks;
    // Those that have a seat.
    Members Seated() const;
    bool IsComplete() const { return Seated().size() == calls.size(); }

    // By rank; null where none has the seat.
    Members calls;
  };

  static absl::StatusOr<Members> Tell(Group& group, const GroupSeat& seat,
                                      const MemberState& state);
  static Key KeyOf(const GroupSeat& seat) { return {seat.dp_rank, seat.cp_size}; }
  // Null where another call has the seat, or none.
  Group* FindSeated(const GroupSeat& seat, const Subscriber& call)
      EVENPACK_REQUIRES(mutex_);
  // How a call ends that has no seat.
  absl::Status EndOf(const GroupSeat& seat, const Subscriber& call) const
      EVENPACK_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::map<Key, Group> groups_ EVENPACK_GUARDED_BY(mutex_);
  // Calls that EndThoseThatWait ends, until they have left.
  std::map<const Subscriber*, absl::Status> sent_away_ EVENPACK_GUARDED_BY(mutex_);
  std::optional<absl::Status> ended_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SESSIONS_GROUP_TABLE_H_
