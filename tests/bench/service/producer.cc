#include "tests/bench/service/producer.h"

#include "tests/bench/service/bench_job.h"

namespace evenpack::bench {

Producer::Producer(v1::PackingService::Stub& stub, uint64_t first,
                   const std::string& job)
    : call_(stub.Ingest(&context_)), sequence_(first) {
  v1::IngestRequest open;
  open.mutable_open()->set_job(job);
  open.mutable_open()->set_stream("a");
  Exchange(open);
}

Producer::~Producer() {
  call_->WritesDone();
  v1::IngestResponse response;
  while (call_->Read(&response)) {
  }
  call_->Finish();
}

void Producer::Send(size_t documents) {
  Exchange(BatchOf(sequence_, documents));
  sequence_ += documents;
}

void Producer::Exchange(const v1::IngestRequest& request) {
  v1::IngestResponse response;
  if (!call_->Write(request) || !call_->Read(&response)) EndWith(call_->Finish());
}

}  // namespace evenpack::bench
