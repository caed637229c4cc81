// One rank's seat in the context-parallel group of its DP rank: learns the peers'
// addresses, and when to connect to them anew.
//
//   std::unique_ptr<GroupMember> member = *client.JoinGroup(
//       {.job = "run-7", .dp_rank = 3, .cp_size = 8, .cp_rank = 1, .member =
//       "host-9"});
//   member->Report({.address = Listen()});
//   for (;;) {
//     absl::StatusOr<GroupNews> news = member->Next();
//     if (!news.ok()) return news.status();
//     ...                      // connect, or close, as it says; then Report()
//   }
#ifndef EVENPACK_CLIENT_CPP_GROUP_MEMBER_H_
#define EVENPACK_CLIENT_CPP_GROUP_MEMBER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace evenpack::client {

// evenpack.v1.OpenGroup.
struct GroupOptions {
  std::string job = {};
  // 0 to DP - 1.
  uint32_t dp_rank = 0;
  // The job's CP.
  uint32_t cp_size = 1;
  // 0 to cp_size - 1.
  uint32_t cp_rank = 0;
  // Names this process, and no other before or after it: 1 to 256 bytes.
  std::string member = {};
};

// INVALID_ARGUMENT naming the first field that is out of its range.
absl::Status Validate(const GroupOptions& options);

// evenpack.v1.MemberState.
struct MemberState {
  // For the peers, 1 to 65,536 bytes; for each epoch a new one, where an address can be
  // used once.
  std::string address = {};
  // The last epoch in which it was told to connect, and whether those connections
  // stand.
  uint64_t epoch = 0;
  bool connected = false;
};

struct GroupNews {
  enum class Kind : uint8_t {
    // All ranks are here. Connect to them; Report() whether that went well.
    kConnect,
    // The connections of all ranks stand: none is being made any more.
    kStands,
    // A rank is not connected any more. Close all connections; Report() that, with this
    // epoch, also where it ended before this rank was told to connect in it.
    kGiveUp,
  };
  Kind kind = Kind::kConnect;
  uint64_t epoch = 0;
  // Of kConnect, by rank.
  std::vector<std::string> addresses;
};

// A lost call is opened again, with back-off, and tells the state reported last: the
// peers' connections don't depend on the server. While they stand it never gives up;
// else ClientOptions.backoff.total counts. News of a call that was lost is dropped: the
// next one tells it anew. So is news that a report has answered which crossed it.
//
// Final errors: ABORTED with the reason SEAT_TAKEN, where a newer member has the rank;
// FAILED_PRECONDITION, where the job's groups are of another size; NOT_FOUND;
// INVALID_ARGUMENT; UNAVAILABLE once the back-off has ended; CANCELLED.
//
// Thread-safe, but one thread at a time in Next(). Destroying one cancels its call; no
// other thread may be in a call of the object then: Cancel() makes them return.
class GroupMember {
 public:
  virtual ~GroupMember() = default;

  // Blocks until there is news, or the error that ends the membership.
  virtual absl::StatusOr<GroupNews> Next() = 0;
  // How this rank stands from now on. Nothing is told, and no peer is told to connect,
  // before the first; nor, after kConnect and kGiveUp, before the next. Returns at
  // once.
  virtual void Report(const MemberState& state) = 0;
  virtual void Cancel() = 0;
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_GROUP_MEMBER_H_
