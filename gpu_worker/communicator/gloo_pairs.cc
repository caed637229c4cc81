#include "gpu_worker/communicator/gloo_pairs.h"

#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <exception>
#include <mutex>
#include <utility>

namespace evenpack::worker {
namespace {

namespace tcp = gloo::transport::tcp;

#ifdef EVENPACK_GPU_WORKER_COMMUNICATOR_GLOO_POINTERS_H_
// What the library allocates for one, of the version whose header is missing.
static_assert(sizeof(tcp::Pair) == 0x380);
#endif

// Every 10 s of silence. A peer that answers none for 10 minutes is gone.
void KeepAlive(int descriptor) {
  const auto set = [descriptor](int level, int option, int value) {
    setsockopt(descriptor, level, option, &value, sizeof(value));
  };
  set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 60);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
}

class EnduringPair final : public tcp::Pair {
 public:
  using Pair::Pair;
  // As its base's, but before this part of it is gone, whose handleEvents may be
  // called.
  ~EnduringPair() override {
    const std::scoped_lock lock(m_);
    if (state_ != CLOSED) Pair::changeState(CLOSED);
  }
  EnduringPair(const EnduringPair&) = delete;
  EnduringPair& operator=(const EnduringPair&) = delete;

  // As its base's, under whose lock it all is: another thread may close the pair else
  // before what was thrown is told.
  void handleEvents(int events) override {
    const std::unique_lock<std::mutex> lock(m_, std::try_to_lock);
    if (!lock) return;
    try {
      if (state_ == CONNECTED) {
        handleReadWrite(events);
      } else if (state_ == LISTENING) {
        handleListening();
      } else if (state_ == CONNECTING) {
        handleConnecting();
      }
    } catch (const std::exception&) {
      Fail(std::current_exception());
    }
  }

 protected:
  // As its base's. Trainers may pause for minutes, between steps or for a checkpoint,
  // and firewalls forget a connection that is silent for so long: whoever sends by it
  // next would wait for an exchange's time-out.
  void changeState(state next) noexcept override {
    if (next == CONNECTED) KeepAlive(fd_);
    Pair::changeState(next);
  }

 private:
  void Fail(const std::exception_ptr& why) {
    if (state_ != CONNECTED) CloseUnlessRegistered();
    signalException(why);
  }

  // A connection that was just taken is not, and Gloo ends the process where it closes
  // one that isn't.
  void CloseUnlessRegistered() {
    if (fd_ < 0) return;
    try {
      device_->unregisterDescriptor(fd_, this);
      // NOLINTNEXTLINE(bugprone-empty-catch): closed it isn't registered either
    } catch (const std::exception&) {
    }
    ::close(fd_);
    fd_ = -1;
  }
};

class EnduringContext final : public tcp::Context {
 public:
  using Context::Context;

  std::unique_ptr<gloo::transport::Pair>& createPair(int peer) override {
    pairs_[static_cast<size_t>(peer)] =
        std::make_unique<EnduringPair>(this, device_.get(), peer, getTimeout());
    return pairs_[static_cast<size_t>(peer)];
  }
};

}  // namespace

std::shared_ptr<gloo::transport::Context> MakeGlooContext(
    std::shared_ptr<gloo::transport::Device> device, int rank, int size) {
  return std::make_shared<EnduringContext>(
      std::dynamic_pointer_cast<tcp::Device>(std::move(device)), rank, size);
}

}  // namespace evenpack::worker
