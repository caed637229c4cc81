#include "server/service/step_messages.h"

#include <google/protobuf/arena.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <array>
#include <deque>
#include <map>
#include <utility>

#include "evenpack/v1/packing_service.pb.h"
#include "server/runtime/mutex.h"

namespace evenpack {

grpc::ByteBuffer EncodeStep(const PublishedStep& step, const StepView& view) {
  // Enough for most steps.
  std::array<char, 16 << 10> block;
  google::protobuf::ArenaOptions options;
  options.initial_block = block.data();
  options.initial_block_size = block.size();
  google::protobuf::Arena arena(options);
  auto* response =
      google::protobuf::Arena::CreateMessage<v1::StreamStepsResponse>(&arena);
  ToProto(step, view, *response->mutable_step());
  const size_t size = response->ByteSizeLong();
  grpc_slice raw = grpc_slice_malloc(size);
  response->SerializeWithCachedSizesToArray(GRPC_SLICE_START_PTR(raw));
  const grpc::Slice slice(raw, grpc::Slice::STEAL_REF);
  return {&slice, 1};
}

struct StepMessages::Cache {
  using Key = std::pair<const PublishedStep*, StepView>;
  struct Entry {
    // Keeps the key's address from being used again.
    std::shared_ptr<const PublishedStep> step;
    grpc::ByteBuffer bytes;
  };

  explicit Cache(size_t limit) : capacity(limit) {}

  const size_t capacity;
  Mutex mutex;
  std::map<Key, Entry> entries EVENPACK_GUARDED_BY(mutex);
  std::deque<Key> oldest_first EVENPACK_GUARDED_BY(mutex);
  size_t held EVENPACK_GUARDED_BY(mutex) = 0;
};

StepMessages::StepMessages(size_t capacity)
    : cache_(std::make_unique<Cache>(capacity)) {}

StepMessages::~StepMessages() = default;

grpc::ByteBuffer StepMessages::Get(const std::shared_ptr<const PublishedStep>& step,
                                   const StepView& view) {
  const Cache::Key key = {step.get(), view};
  {
    MutexLock lock(cache_->mutex);
    const auto found = cache_->entries.find(key);
    if (found != cache_->entries.end()) return found->second.bytes;
  }
  grpc::ByteBuffer bytes = EncodeStep(*step, view);
  Cache& cache = *cache_;
  MutexLock lock(cache.mutex);
  if (!cache.entries.emplace(key, Cache::Entry{step, bytes}).second) return bytes;
  cache.oldest_first.push_back(key);
  cache.held += bytes.Length();
  while (cache.held > cache.capacity) {
    const auto oldest = cache.entries.find(cache.oldest_first.front());
    cache.held -= oldest->second.bytes.Length();
    cache.entries.erase(oldest);
    cache.oldest_first.pop_front();
  }
  return bytes;
}

}  // namespace evenpack
