// A producer of a bench's job.
#ifndef EVENPACK_TESTS_BENCH_SERVICE_PRODUCER_H_
#define EVENPACK_TESTS_BENCH_SERVICE_PRODUCER_H_

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "evenpack/v1/packing_service.grpc.pb.h"

namespace evenpack::bench {

// One call of Ingest for the stream "a", each of whose batches waits for its answer. An
// error ends the program.
class Producer {
 public:
  explicit Producer(v1::PackingService::Stub& stub, uint64_t first = 0,
                    const std::string& job = "bench");
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  void Send(size_t documents);

 private:
  void Exchange(const v1::IngestRequest& request);

  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::IngestRequest, v1::IngestResponse>>
      call_;
  uint64_t sequence_;
};

}  // namespace evenpack::bench

#endif  // EVENPACK_TESTS_BENCH_SERVICE_PRODUCER_H_
