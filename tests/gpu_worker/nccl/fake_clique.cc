#include "tests/gpu_worker/nccl/fake_clique.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

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

void FakeClique::End(int rank) {
  MutexLock lock(mutex_);
  ending_.insert(rank);
}

bool FakeClique::IsEnding() {
  MutexLock lock(mutex_);
  return ending_.size() == joined_.size();
}

void FakeClique::Carry(int rank, const std::vector<FakeMessage>& messages) {
  MutexLock lock(mutex_);
  ++carrying_[rank];
  while (stalled_.contains(rank) && !IsAborted(rank)) changed_.Wait(mutex_);
  std::vector<std::unique_ptr<Post>> posts;
  for (const FakeMessage& message : messages) {
    if (!message.sends || IsAborted(rank)) continue;
    if (buffering_.contains(rank)) {
      Keep(rank, message);
      continue;
    }
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
    if (!post->is_taken) Withdraw(rank, *post);
  }
  --carrying_[rank];
  changed_.SignalAll();
}

void FakeClique::Withdraw(int rank, const Post& post) {
  std::deque<Post*>& waiting = posts_[{rank, post.message->peer}];
  waiting.erase(std::find(waiting.begin(), waiting.end(), &post));
}

void FakeClique::Keep(int rank, const FakeMessage& message) {
  if (!fakeCudaOwns(message.data, message.bytes)) {
    fakeCudaNote("ncclSend: memory that is not in use on the device");
    return;
  }
  auto kept = std::make_unique<Kept>();
  const char* const data = static_cast<const char*>(message.data);
  kept->data.assign(data, data + message.bytes);
  kept->message = message;
  kept->message.data = kept->data.data();
  kept->post.message = &kept->message;
  kept_[rank].push_back(std::move(kept));
}

void FakeClique::Buffer(int rank) {
  MutexLock lock(mutex_);
  buffering_.insert(rank);
}

bool FakeClique::Flush(int rank) {
  MutexLock lock(mutex_);
  for (const std::unique_ptr<Kept>& kept : kept_[rank]) {
    if (std::exchange(kept->is_posted, true)) continue;
    posts_[{rank, kept->message.peer}].push_back(&kept->post);
  }
  changed_.SignalAll();
  return std::all_of(kept_[rank].begin(), kept_[rank].end(),
                     [](const auto& kept) { return kept->post.is_taken; });
}

void FakeClique::Drop(int rank) {
  for (const std::unique_ptr<Kept>& kept : kept_[rank]) {
    while (kept->post.is_read && !kept->post.is_taken) changed_.Wait(mutex_);
    if (kept->is_posted && !kept->post.is_taken) Withdraw(rank, kept->post);
  }
  kept_.erase(rank);
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
  const bool is_kept = buffering_.contains(message.peer);
  mutex_.Unlock();
  if ((is_kept || fakeCudaOwns(post.message->data, message.bytes)) &&
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
  Drop(rank);
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
