#include "tests/gpu_worker/nccl/fake_nccl_world.h"

#include "tests/gpu_worker/nccl/fake_nccl.h"

namespace nccl = evenpack::worker::nccl;

using evenpack::MutexLock;
using evenpack::testing::FakeNcclWorld;
using evenpack::testing::TheFakeNcclWorld;

namespace evenpack::testing {

FakeNcclWorld& TheFakeNcclWorld() {
  static FakeNcclWorld* const world = new FakeNcclWorld;
  return *world;
}

}  // namespace evenpack::testing

namespace {

// Calls visit(handle) for the rank's handles that are alive.
template <typename Visit>
void ForEachAlive(int rank, Visit visit) {
  FakeNcclWorld& world = TheFakeNcclWorld();
  MutexLock lock(world.mutex);
  for (const auto& each : world.all) {
    MutexLock of_each(each->mutex);
    if (each->rank == rank && !each->over) visit(*each);
  }
}

}  // namespace

extern "C" {

size_t fakeNcclLive() {
  size_t alive = 0;
  FakeNcclWorld& world = TheFakeNcclWorld();
  MutexLock lock(world.mutex);
  for (const auto& each : world.all) {
    MutexLock of_each(each->mutex);
    alive += each->over ? 0 : 1;
  }
  return alive;
}

size_t fakeNcclAborts() {
  MutexLock lock(TheFakeNcclWorld().mutex);
  return TheFakeNcclWorld().aborts;
}

void fakeNcclReset() {
  FakeNcclWorld& world = TheFakeNcclWorld();
  MutexLock lock(world.mutex);
  world.version = 22809;
  world.polls = 0;
  world.tell_peers = false;
  world.failing.clear();
  world.stalled.clear();
  world.aborts_are_held = false;
  world.waits_for_host = false;
}

void fakeNcclSetVersion(int version) {
  MutexLock lock(TheFakeNcclWorld().mutex);
  TheFakeNcclWorld().version = version;
}

void fakeNcclHoldAborts(bool held) {
  MutexLock lock(TheFakeNcclWorld().mutex);
  TheFakeNcclWorld().aborts_are_held = held;
}

void fakeNcclWaitForHost(bool waits) {
  MutexLock lock(TheFakeNcclWorld().mutex);
  TheFakeNcclWorld().waits_for_host = waits;
}

size_t fakeNcclEnding() {
  MutexLock lock(TheFakeNcclWorld().mutex);
  return TheFakeNcclWorld().ending;
}

void fakeNcclSetPolls(int polls) {
  MutexLock lock(TheFakeNcclWorld().mutex);
  TheFakeNcclWorld().polls = polls;
}

void fakeNcclRaise(int rank, int error) {
  ForEachAlive(
      rank, [&](nccl::CommunicatorObject& each) { each.clique->Raise(rank, error); });
}

void fakeNcclFailInit(int rank, int error) {
  MutexLock lock(TheFakeNcclWorld().mutex);
  TheFakeNcclWorld().failing[rank] = error;
}

void fakeNcclStall(int rank, bool stalls) {
  {
    MutexLock lock(TheFakeNcclWorld().mutex);
    TheFakeNcclWorld().stalled[rank] = stalls;
  }
  ForEachAlive(
      rank, [&](nccl::CommunicatorObject& each) { each.clique->Stall(rank, stalls); });
}

void fakeNcclBuffer(int rank) {
  ForEachAlive(rank,
               [&](nccl::CommunicatorObject& each) { each.clique->Buffer(rank); });
}

void fakeNcclTellPeers(bool tell) {
  MutexLock lock(TheFakeNcclWorld().mutex);
  TheFakeNcclWorld().tell_peers = tell;
}

}  // extern "C"
