// The double's functions, as NCCL exports them.
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gpu_worker/nccl/nccl_abi.h"
#include "server/runtime/mutex.h"
#include "tests/gpu_worker/cuda/fake_cuda.h"
#include "tests/gpu_worker/nccl/fake_clique.h"
#include "tests/gpu_worker/nccl/fake_nccl_world.h"

namespace nccl = evenpack::worker::nccl;
namespace cuda = evenpack::worker::cuda;

using evenpack::MutexLock;
using evenpack::testing::FakeClique;
using evenpack::testing::FakeMessage;
using evenpack::testing::FakeNcclWorld;
using evenpack::testing::TheFakeNcclWorld;
using nccl::Result;

// Of the double of the driver, which it is linked with.
extern "C" cuda::Result cuLaunchHostFunc(cuda::Stream, cuda::HostFunction, void*);
extern "C" cuda::Result cuCtxPushCurrent_v2(cuda::Context);
extern "C" cuda::Result cuCtxPopCurrent_v2(cuda::Context*);

namespace {

int Polls() {
  MutexLock lock(TheFakeNcclWorld().mutex);
  return TheFakeNcclWorld().polls;
}

void Note(const std::string& call, const std::string& what) {
  fakeCudaNote((call + ": " + what).c_str());
}

// A call with a handle, which must be alive and in no other call.
class Call {
 public:
  Call(nccl::Communicator handle, const char* name) : handle_(handle) {
    bool known = false;
    {
      MutexLock lock(TheFakeNcclWorld().mutex);
      for (const auto& each : TheFakeNcclWorld().all)
        known = known || each.get() == handle;
    }
    if (!known) {
      Note(name, "no such communicator");
      return;
    }
    if (handle->busy.exchange(true)) {
      Note(name, "another call with the communicator is under way");
      return;
    }
    is_entered_ = true;
    MutexLock lock(handle->mutex);
    if (handle->over) Note(name, "the communicator was aborted or destroyed");
    is_valid_ = !handle->over;
  }
  ~Call() {
    if (is_entered_) handle_->busy = false;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  bool is_valid() const { return is_valid_; }

 private:
  const nccl::Communicator handle_;
  bool is_entered_ = false;
  bool is_valid_ = false;
};

// What is to be done after some answers; at once where there are none.
Result Begin(nccl::CommunicatorObject& of, std::function<Result()> then) {
  const int polls = Polls();
  MutexLock lock(of.mutex);
  of.polls = polls;
  of.then = std::move(then);
  if (of.polls > 0) return nccl::kInProgress;
  const Result result = of.then();
  if (result == nccl::kInProgress) return result;
  of.then = nullptr;
  of.error = result;
  return result;
}

struct Group {
  int depth = 0;
  nccl::Communicator handle = nullptr;
  cuda::Stream stream = nullptr;
  std::vector<FakeMessage> messages;
};

Group& CurrentGroup() {
  thread_local Group group;
  return group;
}

// NCCL makes the communicator's device current for a while, and then, by its release,
// leaves it so or makes that current again which was: of a thread that had none, the
// first device, where a context is made for that.
void CheckDevice(const char* call, nccl::Communicator handle) {
  cuda::Context current = nullptr;
  if (cuCtxPopCurrent_v2(&current) == cuda::kSuccess) cuCtxPushCurrent_v2(current);
  if (current != handle->context) Note(call, "its device is not current");
}

// A group on its way through a stream.
struct InStream {
  nccl::Communicator handle = nullptr;
  std::vector<FakeMessage> messages;
};

void CarryInStream(void* argument) {
  const std::unique_ptr<InStream> group(static_cast<InStream*>(argument));
  group->handle->clique->Carry(group->handle->rank, group->messages);
  --group->handle->in_streams;
}

Result Launch(nccl::Communicator handle, cuda::Stream stream,
              std::vector<FakeMessage> messages) {
  ++handle->in_streams;
  auto group = std::make_unique<InStream>();
  *group = {handle, std::move(messages)};
  // Whichever thread asks.
  cuCtxPushCurrent_v2(handle->context);
  const cuda::Result result = cuLaunchHostFunc(stream, CarryInStream, group.get());
  cuda::Context popped = nullptr;
  cuCtxPopCurrent_v2(&popped);
  if (result != cuda::kSuccess) {
    --handle->in_streams;
    return nccl::kUnhandledCudaError;
  }
  static_cast<void>(group.release());
  return nccl::kSuccess;
}

Result Append(const char* call, nccl::Communicator handle, cuda::Stream stream,
              int type, const FakeMessage& message) {
  const Call with(handle, call);
  if (!with.is_valid()) return nccl::kInvalidArgument;
  Group& group = CurrentGroup();
  MutexLock lock(handle->mutex);
  const bool is_ready = handle->connected && handle->then == nullptr;
  if (group.depth == 0 || !is_ready || handle->finalized) {
    Note(call, "outside a group, or while another call is in progress");
    return nccl::kInvalidUsage;
  }
  if (type != nccl::kByte || message.peer < 0 || message.peer == handle->rank ||
      message.peer >= handle->clique->ranks() || message.bytes == 0) {
    Note(call, "an argument that is not accepted");
    return nccl::kInvalidArgument;
  }
  if (group.handle != nullptr && (group.handle != handle || group.stream != stream)) {
    Note(call, "two communicators or streams in a group");
    return nccl::kInvalidUsage;
  }
  group.handle = handle;
  group.stream = stream;
  group.messages.push_back(message);
  return nccl::kSuccess;
}

// The clique of an id, which the first who comes makes.
std::shared_ptr<FakeClique> Meet(const nccl::UniqueId& id, int ranks) {
  FakeNcclWorld& world = TheFakeNcclWorld();
  MutexLock lock(world.mutex);
  const auto found = world.cliques.find(id.internal);
  if (found == world.cliques.end()) return nullptr;
  if (found->second == nullptr) found->second = std::make_shared<FakeClique>(ranks);
  return found->second->ranks() == ranks ? found->second : nullptr;
}

bool IsConfigValid(const nccl::Config& config) {
  return config.magic == 0xcafebeef && config.size >= sizeof(nccl::Config) &&
         config.version >= static_cast<unsigned>(nccl::kOldestVersion) &&
         config.blocking == 0;
}

nccl::Communicator MakeHandle(std::shared_ptr<FakeClique> clique, int rank) {
  auto made = std::make_unique<nccl::CommunicatorObject>();
  made->clique = std::move(clique);
  made->rank = rank;
  FakeNcclWorld& world = TheFakeNcclWorld();
  MutexLock lock(world.mutex);
  if (const auto found = world.failing.find(rank); found != world.failing.end()) {
    made->clique->Raise(rank, found->second);
    world.failing.erase(found);
  }
  if (world.stalled[rank]) made->clique->Stall(rank, true);
  world.all.push_back(std::move(made));
  return world.all.back().get();
}

// While a call ends a communicator.
class CountedEnd {
 public:
  CountedEnd() {
    MutexLock lock(TheFakeNcclWorld().mutex);
    ++TheFakeNcclWorld().ending;
  }
  ~CountedEnd() {
    MutexLock lock(TheFakeNcclWorld().mutex);
    --TheFakeNcclWorld().ending;
  }
  CountedEnd(const CountedEnd&) = delete;
  CountedEnd& operator=(const CountedEnd&) = delete;
};

// As NCCL's thread does that others of the host are connected to.
void WaitForHost(nccl::CommunicatorObject& of) {
  of.clique->End(of.rank);
  const auto waits = [] {
    MutexLock lock(TheFakeNcclWorld().mutex);
    return TheFakeNcclWorld().waits_for_host;
  };
  while (waits() && !of.clique->IsEnding()) std::this_thread::yield();
}

Result StateOf(nccl::CommunicatorObject& of) {
  MutexLock lock(of.mutex);
  if (of.error == nccl::kSuccess) of.error = of.clique->ErrorOf(of.rank);
  if (of.error != nccl::kSuccess) return of.error;
  if (of.then == nullptr) return nccl::kSuccess;
  if (of.polls > 0) {
    --of.polls;
    return nccl::kInProgress;
  }
  const Result result = of.then();
  if (result == nccl::kInProgress) return result;
  of.then = nullptr;
  of.error = result;
  return result;
}

}  // namespace

extern "C" {

Result ncclGetVersion(int* version) {
  MutexLock lock(TheFakeNcclWorld().mutex);
  *version = TheFakeNcclWorld().version;
  return nccl::kSuccess;
}

Result ncclGetUniqueId(nccl::UniqueId* id) {
  FakeNcclWorld& world = TheFakeNcclWorld();
  MutexLock lock(world.mutex);
  *id = {};
  const std::string name = "fake-" + std::to_string(world.ids++);
  name.copy(id->internal, name.size());
  world.cliques[name] = nullptr;
  return nccl::kSuccess;
}

Result ncclCommInitRankConfig(nccl::Communicator* handle, int ranks, nccl::UniqueId id,
                              int rank, nccl::Config* config) {
  cuda::Context current = nullptr;
  if (cuCtxPopCurrent_v2(&current) != cuda::kSuccess) return nccl::kUnhandledCudaError;
  cuCtxPushCurrent_v2(current);
  const std::shared_ptr<FakeClique> clique = Meet(id, ranks);
  if (clique == nullptr || rank < 0 || rank >= ranks || !IsConfigValid(*config)) {
    Note("ncclCommInitRankConfig", "an argument that is not accepted");
    return nccl::kInvalidArgument;
  }
  if (!clique->Join(rank)) return nccl::kInvalidUsage;
  *handle = MakeHandle(clique, rank);
  (*handle)->context = current;
  nccl::CommunicatorObject& of = **handle;
  const Result result = Begin(of, [&of] {
    if (!of.clique->IsComplete()) return nccl::kInProgress;
    of.connected = true;
    return nccl::kSuccess;
  });
  return result;
}

Result ncclCommFinalize(nccl::Communicator handle) {
  const Call with(handle, "ncclCommFinalize");
  if (!with.is_valid()) return nccl::kInvalidArgument;
  CheckDevice("ncclCommFinalize", handle);
  {
    MutexLock lock(handle->mutex);
    if (handle->then != nullptr || std::exchange(handle->finalized, true)) {
      Note("ncclCommFinalize", "while another call is in progress, or twice");
      return nccl::kInvalidUsage;
    }
  }
  return Begin(*handle, [handle] {
    const bool is_done = handle->in_streams == 0 && handle->clique->Flush(handle->rank);
    return is_done ? nccl::kSuccess : nccl::kInProgress;
  });
}

Result ncclCommDestroy(nccl::Communicator handle) {
  const CountedEnd counted;
  const Call with(handle, "ncclCommDestroy");
  if (!with.is_valid()) return nccl::kInvalidArgument;
  CheckDevice("ncclCommDestroy", handle);
  {
    MutexLock lock(handle->mutex);
    if (!handle->finalized || handle->then != nullptr) {
      Note("ncclCommDestroy", "it was not finalized");
    }
    handle->over = true;
  }
  WaitForHost(*handle);
  return nccl::kSuccess;
}

Result ncclCommAbort(nccl::Communicator handle) {
  const CountedEnd counted;
  const Call with(handle, "ncclCommAbort");
  if (!with.is_valid()) return nccl::kInvalidArgument;
  CheckDevice("ncclCommAbort", handle);
  {
    MutexLock lock(handle->mutex);
    handle->over = true;
    handle->then = nullptr;
  }
  bool tell = false;
  {
    MutexLock lock(TheFakeNcclWorld().mutex);
    tell = TheFakeNcclWorld().tell_peers;
    ++TheFakeNcclWorld().aborts;
  }
  const auto are_held = [] {
    MutexLock lock(TheFakeNcclWorld().mutex);
    return TheFakeNcclWorld().aborts_are_held;
  };
  while (are_held()) std::this_thread::yield();
  handle->clique->Abort(handle->rank, tell);
  WaitForHost(*handle);
  return nccl::kSuccess;
}

Result ncclCommGetAsyncError(nccl::Communicator handle, Result* error) {
  const Call with(handle, "ncclCommGetAsyncError");
  if (!with.is_valid()) return nccl::kInvalidArgument;
  *error = StateOf(*handle);
  return nccl::kSuccess;
}

Result ncclGroupStart() {
  ++CurrentGroup().depth;
  return nccl::kSuccess;
}

Result ncclGroupEnd() {
  if (CurrentGroup().depth != 1) {
    Note("ncclGroupEnd", "without ncclGroupStart, or within another group");
    return nccl::kInvalidUsage;
  }
  const Group group = std::exchange(CurrentGroup(), {});
  if (group.handle == nullptr) return nccl::kSuccess;
  const Call with(group.handle, "ncclGroupEnd");
  if (!with.is_valid()) return nccl::kInvalidArgument;
  return Begin(*group.handle,
               [group] { return Launch(group.handle, group.stream, group.messages); });
}

Result ncclSend(const void* from, size_t count, int type, int peer,
                nccl::Communicator handle, cuda::Stream stream) {
  return Append("ncclSend", handle, stream, type,
                {peer, const_cast<void*>(from), count, true});
}

Result ncclRecv(void* to, size_t count, int type, int peer, nccl::Communicator handle,
                cuda::Stream stream) {
  return Append("ncclRecv", handle, stream, type, {peer, to, count, false});
}

const char* ncclGetErrorString(Result result) {
  switch (result) {
    case nccl::kSystemError:
      return "unhandled system error";
    case nccl::kRemoteError:
      return "remote process exited or there was a network error";
    case nccl::kInternalError:
      return "internal error";
    default:
      return "another error";
  }
}

const char* ncclGetLastError(nccl::Communicator) { return "the double's last error"; }

}  // extern "C"
