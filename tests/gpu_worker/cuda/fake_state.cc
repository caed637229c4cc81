#include "tests/gpu_worker/cuda/fake_state.h"

#include <cstdlib>
#include <cstring>
#include <utility>

namespace evenpack::testing {
namespace {

// A NaN in every type of element.
constexpr int kPoison = 0xff;
// What the driver promises.
constexpr size_t kAlignment = 256;

}  // namespace

void FakeMemory::SetCapacity(size_t bytes) {
  MutexLock lock(mutex_);
  capacity_ = bytes;
}

char* FakeMemory::Take(size_t bytes) {
  MutexLock lock(mutex_);
  if (bytes > capacity_ - taken_) return nullptr;
  void* data = nullptr;
  if (posix_memalign(&data, kAlignment, bytes) != 0) return nullptr;
  taken_ += bytes;
  pieces_[static_cast<char*>(data)] = {bytes, false};
  return static_cast<char*>(data);
}

void FakeMemory::Begin(char* data) {
  MutexLock lock(mutex_);
  Piece& piece = pieces_.at(data);
  std::memset(data, kPoison, piece.bytes);
  piece.in_use = true;
}

void FakeMemory::End(char* data) {
  MutexLock lock(mutex_);
  const auto found = pieces_.find(data);
  std::memset(data, kPoison, found->second.bytes);
  taken_ -= found->second.bytes;
  pieces_.erase(found);
  std::free(data);
}

size_t FakeMemory::capacity() {
  MutexLock lock(mutex_);
  return capacity_;
}

void FakeMemory::Place(char* data, size_t bytes) {
  MutexLock lock(mutex_);
  pieces_[data] = {bytes, true};
}

void FakeMemory::Forget(char* data) {
  MutexLock lock(mutex_);
  pieces_.erase(data);
}

bool FakeMemory::Owns(const void* data, size_t bytes) {
  MutexLock lock(mutex_);
  const char* const first = static_cast<const char*>(data);
  auto after = pieces_.upper_bound(first);
  if (after == pieces_.begin()) return false;
  const auto& [begin, piece] = *--after;
  return piece.in_use && first + bytes <= begin + piece.bytes;
}

bool FakeMemory::IsTaken(const void* data) {
  MutexLock lock(mutex_);
  return pieces_.contains(static_cast<const char*>(data));
}

size_t FakeMemory::pieces() {
  MutexLock lock(mutex_);
  return pieces_.size();
}

FakeState& FakeState::Get() {
  // Streams' threads may use it to the end.
  static FakeState* const state = new FakeState;
  return *state;
}

void FakeState::Note(const std::string& misuse) {
  MutexLock lock(mutex_);
  misuse_ += misuse + "\n";
}

std::string FakeState::misuse() {
  MutexLock lock(mutex_);
  return misuse_;
}

void FakeState::Reset() {
  memory_.SetCapacity(size_t{1} << 30);
  MutexLock lock(mutex_);
  misuse_.clear();
  version_ = 13000;
  devices_are_connected_ = true;
  refuses_events_ = false;
  failure_ = worker::cuda::kSuccess;
}

bool FakeState::devices_are_connected() {
  MutexLock lock(mutex_);
  return devices_are_connected_;
}

void FakeState::ConnectDevices(bool connected) {
  MutexLock lock(mutex_);
  devices_are_connected_ = connected;
}

bool FakeState::refuses_events() {
  MutexLock lock(mutex_);
  return refuses_events_;
}

void FakeState::RefuseEvents(bool refused) {
  MutexLock lock(mutex_);
  refuses_events_ = refused;
}

int FakeState::version() {
  MutexLock lock(mutex_);
  return version_;
}

uint64_t FakeState::time() {
  MutexLock lock(mutex_);
  return time_;
}

void FakeState::PassTime(uint64_t nanoseconds) {
  MutexLock lock(mutex_);
  time_ += nanoseconds;
}

void FakeState::SetVersion(int version) {
  MutexLock lock(mutex_);
  version_ = version;
}

worker::cuda::Result FakeState::failure() {
  MutexLock lock(mutex_);
  return failure_;
}

void FakeState::Fail(worker::cuda::Result failure) {
  MutexLock lock(mutex_);
  failure_ = failure;
}

void FakeState::Add(const std::string& kind, const void* handle) {
  MutexLock lock(mutex_);
  handles_.emplace(kind, handle);
}

bool FakeState::Check(const std::string& kind, const void* handle,
                      const std::string& call) {
  MutexLock lock(mutex_);
  if (handles_.contains({kind, handle})) return true;
  misuse_ += call + ": no such " + kind + "\n";
  return false;
}

bool FakeState::Remove(const std::string& kind, const void* handle,
                       const std::string& call) {
  if (!Check(kind, handle, call)) return false;
  MutexLock lock(mutex_);
  handles_.erase(handles_.find({kind, handle}));
  return true;
}

size_t FakeState::live() {
  const size_t pieces = memory_.pieces();
  MutexLock lock(mutex_);
  return handles_.size() + pieces;
}

}  // namespace evenpack::testing
