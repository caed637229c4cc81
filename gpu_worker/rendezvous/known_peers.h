// Membership in a group whose ranks have told each other their addresses already: for
// those that have no server, but another way to exchange a few bytes once.
#ifndef EVENPACK_GPU_WORKER_RENDEZVOUS_KNOWN_PEERS_H_
#define EVENPACK_GPU_WORKER_RENDEZVOUS_KNOWN_PEERS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cpp/group_member.h"
#include "server/runtime/mutex.h"

namespace evenpack::worker {

// Its epoch 1 stands once this rank is connected to all others, and is the only one:
// whoever loses its connections has FAILED_PRECONDITION from Next. Thread-safe.
class KnownPeers final : public client::GroupMember {
 public:
  // By rank.
  explicit KnownPeers(std::vector<std::string> addresses)
      : addresses_(std::move(addresses)) {}

  absl::StatusOr<client::GroupNews> Next() override;
  void Report(const client::MemberState& state) override;
  void Cancel() override;

 private:
  const std::vector<std::string> addresses_;
  Mutex mutex_;
  CondVar changed_;
  bool told_ EVENPACK_GUARDED_BY(mutex_) = false;
  // Reported since the last news.
  std::optional<client::MemberState> state_ EVENPACK_GUARDED_BY(mutex_);
  bool cancelled_ EVENPACK_GUARDED_BY(mutex_) = false;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_RENDEZVOUS_KNOWN_PEERS_H_
