#include "server/app/flood_guard.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <utility>

namespace evenpack {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerInterceptorFactoryInterface;
using grpc::experimental::ServerRpcInfo;

// Of one call.
class CancelInterceptor final : public Interceptor {
 public:
  CancelInterceptor(ServerRpcInfo* call, FloodGuard& guard)
      : call_(call), guard_(guard) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    using Point = InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Point::PRE_SEND_STATUS)) answered_ = true;
    if (methods->QueryInterceptionHookPoint(Point::POST_RECV_CLOSE) && IsCancelled()) {
      guard_.CallCancelled(call_->server_context()->peer());
    }
    methods->Proceed();
  }

 private:
  // Contexts of gRPC's own services, which have threads for their calls, would ask this
  // interceptor in turn.
  bool IsCancelled() const {
    const auto* const context = call_->server_context();
    const bool has_callbacks =
        dynamic_cast<const grpc::CallbackServerContext*>(context) != nullptr;
    return has_callbacks ? context->IsCancelled() : !answered_;
  }

  ServerRpcInfo* const call_;
  FloodGuard& guard_;
  std::atomic<bool> answered_ = false;
};

class CancelInterceptors final : public ServerInterceptorFactoryInterface {
 public:
  explicit CancelInterceptors(FloodGuard& guard) : guard_(guard) {}

  Interceptor* CreateServerInterceptor(ServerRpcInfo* call) override {
    return std::make_unique<CancelInterceptor>(call, guard_).release();
  }

 private:
  FloodGuard& guard_;
};

}  // namespace

FloodGuard::FloodGuard(const Clock& clock,
                       std::function<void(const std::string& peer)> cut,
                       const FloodGuardOptions& options)
    : clock_(clock), cut_(std::move(cut)), options_(options) {}

std::unique_ptr<ServerInterceptorFactoryInterface> FloodGuard::Interceptors() {
  return std::make_unique<CancelInterceptors>(*this);
}

void FloodGuard::CallCancelled(const std::string& peer) {
  const Clock::TimePoint now = clock_.Now();
  {
    MutexLock lock(mutex_);
    const Bucket full{now, options_.at_once};
    Bucket& bucket = buckets_.try_emplace(peer, full).first->second;
    Refill(bucket, now);
    const bool had = bucket.left >= 1;
    bucket.left = std::max(0.0, bucket.left - 1);
    if (buckets_.size() >= forget_at_) Forget(now);
    if (had) return;
  }
  cut_(peer);
}

size_t FloodGuard::peers() {
  MutexLock lock(mutex_);
  return buckets_.size();
}

void FloodGuard::Refill(Bucket& bucket, Clock::TimePoint now) const {
  const double more = SecondsBetween(bucket.at, now) * options_.each_second;
  bucket.left = std::min(options_.at_once, bucket.left + more);
  bucket.at = now;
}

void FloodGuard::Forget(Clock::TimePoint now) {
  for (auto it = buckets_.begin(); it != buckets_.end();) {
    Refill(it->second, now);
    it = it->second.left >= options_.at_once ? buckets_.erase(it) : std::next(it);
  }
  forget_at_ = std::max<size_t>(1024, 2 * buckets_.size());
}

}  // namespace evenpack
