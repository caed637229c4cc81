// Ranks of the double that met by an id, and what they send each other.
#ifndef EVENPACK_TESTS_GPU_WORKER_NCCL_FAKE_CLIQUE_H_
#define EVENPACK_TESTS_GPU_WORKER_NCCL_FAKE_CLIQUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "gpu_worker/nccl/nccl_abi.h"
#include "server/runtime/mutex.h"

namespace evenpack::testing {

// A send or a receive.
struct FakeMessage {
  int peer = 0;
  void* data = nullptr;
  size_t bytes = 0;
  bool sends = false;
};

// Thread-safe.
class FakeClique {
 public:
  explicit FakeClique(int ranks) : ranks_(ranks) {}

  int ranks() const { return ranks_; }
  // False where the rank has joined before, which is misuse unless it has aborted
  // since.
  bool Join(int rank);
  bool IsComplete();

  // The messages of a group: returns when all of them have arrived, or the rank is
  // aborted.
  void Carry(int rank, const std::vector<FakeMessage>& messages);
  void Stall(int rank, bool stalls);
  // What the rank sends is kept; its Carry doesn't wait for peers that receive it.
  void Buffer(int rank);
  // Gives peers what was kept of the rank's; whether they have all of it.
  bool Flush(int rank);
  // The rank is being destroyed or aborted; whether all that joined are.
  void End(int rank);
  bool IsEnding();
  // Returns when Carry has.
  void Abort(int rank, bool tell_peers);
  void Raise(int rank, worker::nccl::Result error);
  worker::nccl::Result ErrorOf(int rank);

 private:
  struct Post {
    const FakeMessage* message = nullptr;
    bool is_read = false;
    bool is_taken = false;
  };
  // A send whose data are the double's own.
  struct Kept {
    std::vector<char> data;
    FakeMessage message;
    Post post;
    bool is_posted = false;
  };

  void Receive(int rank, const FakeMessage& message) EVENPACK_REQUIRES(mutex_);
  void Keep(int rank, const FakeMessage& message) EVENPACK_REQUIRES(mutex_);
  void Drop(int rank) EVENPACK_REQUIRES(mutex_);
  void Withdraw(int rank, const Post& post) EVENPACK_REQUIRES(mutex_);
  bool IsAborted(int rank) const EVENPACK_REQUIRES(mutex_) {
    return aborted_.contains(rank);
  }

  const int ranks_;
  Mutex mutex_;
  CondVar changed_;
  std::set<int> joined_ EVENPACK_GUARDED_BY(mutex_);
  std::set<int> aborted_ EVENPACK_GUARDED_BY(mutex_);
  std::set<int> ending_ EVENPACK_GUARDED_BY(mutex_);
  std::set<int> stalled_ EVENPACK_GUARDED_BY(mutex_);
  std::set<int> buffering_ EVENPACK_GUARDED_BY(mutex_);
  std::map<int, std::deque<std::unique_ptr<Kept>>> kept_ EVENPACK_GUARDED_BY(mutex_);
  // How many groups a rank is carrying.
  std::map<int, int> carrying_ EVENPACK_GUARDED_BY(mutex_);
  std::map<int, worker::nccl::Result> errors_ EVENPACK_GUARDED_BY(mutex_);
  // By sender and receiver, in order.
  std::map<std::pair<int, int>, std::deque<Post*>> posts_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_NCCL_FAKE_CLIQUE_H_
