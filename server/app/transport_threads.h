// Threads that do the transport's work, beside those of gRPC.
//
// A thread of gRPC reads a connection for as long as bytes come, and on a small machine
// gRPC has two that also run all handlers: a few peers that send without a pause would
// keep them all. With more, the system shares the processors between peers and
// handlers.
#ifndef EVENPACK_SERVER_APP_TRANSPORT_THREADS_H_
#define EVENPACK_SERVER_APP_TRANSPORT_THREADS_H_

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <thread>
#include <vector>

namespace evenpack {

// Not thread-safe.
class TransportThreads {
 public:
  TransportThreads() = default;
  // Stops.
  ~TransportThreads();
  TransportThreads(const TransportThreads&) = delete;
  TransportThreads& operator=(const TransportThreads&) = delete;

  // Before the server is built.
  void AddTo(grpc::ServerBuilder& builder, int threads);
  // After that.
  void Start();
  // After the server was shut down. May be called again.
  void Stop();

 private:
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues_;
  std::vector<std::thread> threads_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_TRANSPORT_THREADS_H_
