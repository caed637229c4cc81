#include "server/app/call_counting.h"

#include <grpcpp/grpcpp.h>

#include <utility>

namespace evenpack {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerInterceptorFactoryInterface;
using grpc::experimental::ServerRpcInfo;

// Of one call.
class CountingInterceptor final : public grpc::experimental::Interceptor {
 public:
  CountingInterceptor(ServerRpcInfo* call, const CountsOfPeer& counts_of)
      : call_(call), counts_of_(counts_of) {}
  ~CountingInterceptor() override {
    if (counts_ != nullptr) --counts_->open;
  }

  void Intercept(InterceptorBatchMethods* methods) override {
    using Point = InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Point::POST_RECV_INITIAL_METADATA)) {
      counts_ = counts_of_(call_->server_context()->peer());
      if (counts_ != nullptr) {
        ++counts_->open;
        ++counts_->arrivals;
      }
    }
    if (counts_ != nullptr &&
        methods->QueryInterceptionHookPoint(Point::POST_RECV_MESSAGE)) {
      ++counts_->arrivals;
    }
    methods->Proceed();
  }

 private:
  ServerRpcInfo* const call_;
  const CountsOfPeer& counts_of_;
  std::shared_ptr<CallCounts> counts_;
};

class CountingInterceptors final : public ServerInterceptorFactoryInterface {
 public:
  explicit CountingInterceptors(CountsOfPeer counts_of)
      : counts_of_(std::move(counts_of)) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      ServerRpcInfo* call) override {
    return std::make_unique<CountingInterceptor>(call, counts_of_).release();
  }

 private:
  const CountsOfPeer counts_of_;
};

}  // namespace

std::unique_ptr<ServerInterceptorFactoryInterface> CountCalls(CountsOfPeer counts_of) {
  return std::make_unique<CountingInterceptors>(std::move(counts_of));
}

}  // namespace evenpack
