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
  google::protobuf::Arena arena(block.data(), block.size());
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
  struct Key {
    // Weak, since jobs let go of steps, and are removed, long before the cache is full;
    // and still not taken for another that is made at the same address.
    std::weak_ptr<const PublishedStep> step;
    StepView view;

    friend bool operator<(const Key& a, const Key& b) {
      if (a.step.owner_before(b.step)) return true;
      return !b.step.owner_before(a.step) && a.view < b.view;
    }
  };
  using Entries = std::map<Key, grpc::ByteBuffer>;

  explicit Cache(size_t limit) : capacity(limit) {}

  const size_t capacity;
  Mutex mutex;
  Entries entries EVENPACK_GUARDED_BY(mutex);
  std::deque<Entries::iterator> oldest_first EVENPACK_GUARDED_BY(mutex);
  size_t held EVENPACK_GUARDED_BY(mutex) = 0;
};

StepMessages::StepMessages(size_t capacity)
    : cache_(std::make_unique<Cache>(capacity)) {}

StepMessages::~StepMessages() = default;

grpc::ByteBuffer StepMessages::Get(const std::shared_ptr<const PublishedStep>& step,
                                   const StepView& view) {
  Cache& cache = *cache_;
  Cache::Key key = {step, view};
  {
    MutexLock lock(cache.mutex);
    const auto found = cache.entries.find(key);
    if (found != cache.entries.end()) return found->second;
  }
  grpc::ByteBuffer bytes = EncodeStep(*step, view);
  MutexLock lock(cache.mutex);
  const auto [entry, is_new] = cache.entries.emplace(std::move(key), bytes);
  if (!is_new) return bytes;
  cache.oldest_first.push_back(entry);
  cache.held += bytes.Length() + kBytesBeside;
  while (cache.held > cache.capacity) {
    const auto oldest = cache.oldest_first.front();
    cache.oldest_first.pop_front();
    cache.held -= oldest->second.Length() + kBytesBeside;
    cache.entries.erase(oldest);
  }
  return bytes;
}

}  // namespace evenpack
