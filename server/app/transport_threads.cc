#include "server/app/transport_threads.h"

namespace evenpack {
namespace {

// Nothing is ever put into the queue: who waits for it works for the transport.
void Work(grpc::ServerCompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) {
  }
}

}  // namespace

TransportThreads::~TransportThreads() { Stop(); }

void TransportThreads::AddTo(grpc::ServerBuilder& builder, int threads) {
  for (int i = 0; i < threads; ++i) queues_.push_back(builder.AddCompletionQueue());
}

void TransportThreads::Start() {
  for (const auto& queue : queues_) {
    threads_.emplace_back([&queue] { Work(*queue); });
  }
}

void TransportThreads::Stop() {
  for (const auto& queue : queues_) queue->Shutdown();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  // A queue that nobody waited for is emptied before it goes.
  for (const auto& queue : queues_) Work(*queue);
  queues_.clear();
}

}  // namespace evenpack
