#include "tests/bench/service/bench_job.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/testing/given_lengths.h"

namespace evenpack::bench {
namespace {

constexpr uint32_t kWindow = 131072;

}  // namespace

void EndWith(const grpc::Status& status) {
  std::fprintf(stderr, "%s\n", status.error_message().c_str());
  std::exit(1);
}

std::unique_ptr<v1::PackingService::Stub> Connect(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return v1::PackingService::NewStub(grpc::CreateCustomChannel(
      address,
      credentials == nullptr ? grpc::InsecureChannelCredentials() : credentials,
      arguments));
}

void CreateJob(v1::PackingService::Stub& stub, const BenchJob& job) {
  v1::CreateJobRequest request;
  request.set_name(job.name);
  v1::JobSpec& spec = *request.mutable_spec();
  spec.add_streams()->set_name("a");
  spec.set_window(kWindow);
  spec.set_max_length(kWindow + kWindow / 2);
  spec.set_split_overlong(true);
  spec.mutable_policy()->mutable_wlb()->add_queue_thresholds(49152);
  spec.mutable_policy()->mutable_wlb()->add_queue_thresholds(98304);
  spec.mutable_parallelism()->set_data(job.data_parallel);
  spec.mutable_parallelism()->set_micro_batches_per_rank(job.micro_batches_per_rank);
  spec.mutable_parallelism()->set_context(job.context_parallel);
  grpc::ClientContext context;
  v1::CreateJobResponse response;
  const grpc::Status status = stub.CreateJob(&context, request, &response);
  if (!status.ok()) EndWith(status);
}

v1::IngestRequest BatchOf(uint64_t first, size_t documents) {
  const std::vector<uint32_t>& lengths = testing::GivenLengths();
  v1::IngestRequest request;
  v1::DocumentBatch& batch = *request.mutable_batch();
  batch.set_first_sequence(first);
  for (uint64_t i = first; i < first + documents; ++i) {
    batch.add_length(lengths[i % lengths.size()]);
  }
  return request;
}

}  // namespace evenpack::bench
