// Keeps one rank connected to its context-parallel group: finds the peers through the
// server, connects, and does so anew where a peer was restarted or an exchange failed.
#ifndef EVENPACK_GPU_WORKER_RENDEZVOUS_GROUP_RENDEZVOUS_H_
#define EVENPACK_GPU_WORKER_RENDEZVOUS_GROUP_RENDEZVOUS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/group_member.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/communicator/endpoint.h"
#include "server/runtime/mutex.h"

namespace evenpack::worker {

// Enough for a restart of a peer, wherever a scheduler finds room for it.
inline constexpr std::chrono::minutes kDefaultPatience{30};
// Enough for peers that were told to connect to this rank to do so.
inline constexpr std::chrono::seconds kDefaultFarewell{2};

// The group as it is connected in an epoch.
struct GroupEpoch {
  uint64_t epoch = 0;
  std::shared_ptr<Communicator> communicator;
};

struct GroupStanding {
  // The last in which it was told to connect; 0 before the first.
  uint64_t epoch = 0;
  // All ranks are connected to each other.
  bool connected = false;
  // Epochs that have ended since, though all ranks were connected.
  uint64_t losses = 0;
};

// Thread-safe.
class GroupRendezvous {
 public:
  // A new one for each epoch.
  using OpenEndpoint = std::function<absl::StatusOr<std::unique_ptr<Endpoint>>()>;

  // `patience`: how long Await waits for the others. `farewell`: how long the
  // destructor does where they are connecting, so that they need not begin anew.
  GroupRendezvous(std::unique_ptr<client::GroupMember> member, OpenEndpoint open,
                  std::chrono::nanoseconds patience = kDefaultPatience,
                  std::chrono::nanoseconds farewell = kDefaultFarewell);
  // Leaves the group as Cancel does. Nobody may be in Await.
  ~GroupRendezvous();
  GroupRendezvous(const GroupRendezvous&) = delete;
  GroupRendezvous& operator=(const GroupRendezvous&) = delete;

  // Blocks until all ranks are connected to each other, in an epoch above `after`.
  // DEADLINE_EXCEEDED: they were not within `patience`, or its own where that is none,
  // and why this rank could not connect to them, if it was that; one may wait again.
  // Other errors are final: that of the membership, or of an endpoint that can't be
  // opened; CANCELLED after Cancel().
  absl::StatusOr<GroupEpoch> Await(
      uint64_t after = 0,
      std::optional<std::chrono::nanoseconds> patience = std::nullopt);
  std::chrono::nanoseconds patience() const { return patience_; }
  // An exchange of that epoch failed: the group forms anew. Without effect where it has
  // ended already.
  void Lose(uint64_t epoch, const absl::Status& why);
  // Whoever exchanges says when nothing of this epoch is under way, nor due before it
  // says otherwise: who leaves then leaves peers what they were sent
  // (Communicator::Leave).
  void SetIdle(bool idle);
  // Ends the membership, and aborts the exchanges unless it is idle: all that block
  // return.
  void Cancel();
  // CANCELLED after Cancel(), whatever else has ended the membership. A rank that is
  // alone hears of it in no exchange.
  absl::Status CheckNotCancelled() const;

  GroupStanding standing() const;

 private:
  static constexpr std::chrono::milliseconds kShortestPause{50};
  static constexpr std::chrono::milliseconds kLongestPause{2000};

  void Run();
  // False where the membership is over.
  bool Carry(const client::GroupNews& news);
  // On a thread of its own: that the epoch is over is heard meanwhile.
  void BeginToConnect(const client::GroupNews& news);
  // What came of connecting, which may be why it could not begin.
  void TakeConnected(const Endpoint& endpoint,
                     absl::StatusOr<std::unique_ptr<Communicator>> communicator);
  // Returns when nothing is being connected. All that a peer would wait for here it has
  // to give up as well.
  void StopConnecting();
  void CancelConnecting() EVENPACK_REQUIRES(mutex_);
  void GiveUp(uint64_t epoch) EVENPACK_REQUIRES(mutex_);
  // Peers may be there again and again, and not be reached: said once until they are.
  void NoteFailure(const absl::Status& why) EVENPACK_REQUIRES(mutex_);
  // Peers that can be told of and not be reached, as at a wrong host, would form epochs
  // as fast as the server numbers them. Not the first time: a peer may be back by then.
  void AwaitNextTry() EVENPACK_REQUIRES(mutex_);
  // Ends what there is of an epoch, and tells peers that nothing stands.
  void ReportLost(const absl::Status& why) EVENPACK_REQUIRES(mutex_);
  enum class End { kAbort, kAsItStands };
  void SetFinal(const absl::Status& status, End end);
  // Connects no longer, after the farewell.
  void EndConnecting();

  const OpenEndpoint open_;
  const std::chrono::nanoseconds patience_;
  const std::chrono::nanoseconds farewell_;
  const std::unique_ptr<client::GroupMember> member_;

  mutable Mutex mutex_;
  CondVar changed_;
  // For the next epoch; null while it is being connected, and once it is.
  std::unique_ptr<Endpoint> endpoint_ EVENPACK_GUARDED_BY(mutex_);
  // Of an epoch that ended before it began to connect, until the next one forms.
  std::unique_ptr<Endpoint> passed_over_ EVENPACK_GUARDED_BY(mutex_);
  // While it is being connected.
  std::shared_ptr<Endpoint> connecting_ EVENPACK_GUARDED_BY(mutex_);
  bool connecting_is_cancelled_ EVENPACK_GUARDED_BY(mutex_) = false;
  // The last that it was told to connect in, or to give up.
  uint64_t epoch_ EVENPACK_GUARDED_BY(mutex_) = 0;
  // Of that epoch; null while it isn't connected, or not any more.
  std::shared_ptr<Communicator> communicator_ EVENPACK_GUARDED_BY(mutex_);
  // All ranks are connected.
  bool stands_ EVENPACK_GUARDED_BY(mutex_) = false;
  uint64_t losses_ EVENPACK_GUARDED_BY(mutex_) = 0;
  bool idle_ EVENPACK_GUARDED_BY(mutex_) = false;
  // Before it says that it failed to connect; nought once all ranks are connected.
  std::chrono::milliseconds pause_ EVENPACK_GUARDED_BY(mutex_){0};
  // Why this rank last failed to connect; OK once all ranks are connected.
  absl::Status connect_failure_ EVENPACK_GUARDED_BY(mutex_);
  std::optional<absl::Status> final_ EVENPACK_GUARDED_BY(mutex_);
  bool cancelled_ EVENPACK_GUARDED_BY(mutex_) = false;

  // The other one's, and the destructor's once that has ended.
  std::thread connecting_thread_;
  std::thread thread_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_RENDEZVOUS_GROUP_RENDEZVOUS_H_
