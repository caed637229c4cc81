#include "tests/gpu_worker/nccl/fake_clique.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "tests/gpu_worker/cuda/fake_cuda.h"

namespace evenpack::testing {

namespace nccl = worker::nccl;

bool FakeClique::Join(int rank) {
  MutexLock lock(mutex_);
  if (joined_.insert(rank).second) return true;
  if (!IsAborted(rank))
    fakeCudaNote("ncclCommInitRankConfig: the rank has joined before");
  return false;
}

bool FakeClique::IsComplete() {
  MutexLock lock(mutex_);
  return joined_.size() == static_cast<size_t>(ranks_);
}

void FakeClique::Carry(int rank, const std::vector<FakeMessage>& messages) {
  MutexLock lock(mutex_);
  ++carrying_[rank];
  while (stalled_.contains(rank) && !IsAborted(rank)) changed_.Wait(mutex_);
  std::vector<std::unique_ptr<Post>> posts;
  for (const FakeMessage& message : messages) {
    if (!message.sends || IsAborted(rank)) continue;
    posts.push_back(std::make_unique<Post>());
    posts.back()->message = &message;
    posts_[{rank, message.peer}].push_back(posts.back().get());
  }
  changed_.SignalAll();
  for (const FakeMessage& message : messages) {
    if (!message.sends) Receive(rank, message);
  }
  for (const std::unique_ptr<Post>& post : posts) {
    while (!post->is_taken && (post->is_read || !IsAborted(rank))) {
      changed_.Wait(mutex_);
    }
    if (post->is_taken) continue;
    std::deque<Post*>& waiting = posts_[{rank, post->message->peer}];
    waiting.erase(std::find(waiting.begin(), waiting.end(), post.get()));
  }
  --carrying_[rank];
  changed_.SignalAll();
}

void FakeClique::Receive(int rank, const FakeMessage& message) {
  std::deque<Post*>& waiting = posts_[{message.peer, rank}];
  while (waiting.empty() && !IsAborted(rank)) changed_.Wait(mutex_);
  if (IsAborted(rank)) return;
  Post& post = *waiting.front();
  if (post.message->bytes != message.bytes) {
    fakeCudaNote("ncclRecv: another count than that of the peer's ncclSend");
    errors_[rank] = nccl::kInternalError;
    errors_[message.peer] = nccl::kInternalError;
    while (!IsAborted(rank)) changed_.Wait(mutex_);
    return;
  }
  waiting.pop_front();
  post.is_read = true;
  mutex_.Unlock();
  if (fakeCudaOwns(post.message->data, message.bytes) &&
      fakeCudaOwns(message.data, message.bytes)) {
    std::memcpy(message.data, post.message->data, message.bytes);
  } else {
    fakeCudaNote("ncclSend, ncclRecv: memory that is not in use on the device");
  }
  mutex_.Lock();
  post.is_taken = true;
  changed_.SignalAll();
}

void FakeClique::Stall(int rank, bool stalls) {
  MutexLock lock(mutex_);
  if (stalls) {
    stalled_.insert(rank);
  } else {
    stalled_.erase(rank);
  }
  changed_.SignalAll();
}

void FakeClique::Abort(int rank, bool tell_peers) {
  MutexLock lock(mutex_);
  aborted_.insert(rank);
  if (tell_peers) {
    for (int peer = 0; peer < ranks_; ++peer) {
      if (peer != rank) errors_.emplace(peer, nccl::kRemoteError);
    }
  }
  changed_.SignalAll();
  while (carrying_[rank] > 0) changed_.Wait(mutex_);
}

void FakeClique::Raise(int rank, nccl::Result error) {
  MutexLock lock(mutex_);
  errors_[rank] = error;
}

nccl::Result FakeClique::ErrorOf(int rank) {
  MutexLock lock(mutex_);
  const auto found = errors_.find(rank);
  return found == errors_.end() ? nccl::kSuccess : found->second;
}

}  // namespace evenpack::testing
