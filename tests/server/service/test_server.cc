#include "tests/server/service/test_server.h"

#include <gtest/gtest.h>

#include "server/service/cost_profile_service.h"
#include "server/service/packing_service.h"

namespace evenpack::testing {

TestServer::TestServer(bool commit_waits, size_t max_calls, const QuotaLimits& quotas)
    : TestServer(nullptr, commit_waits, max_calls, quotas) {}

TestServer::TestServer(SharedServer& shared)
    : TestServer(&shared, true, 1000, kDefaultQuotaLimits) {}

TestServer::TestServer(SharedServer* shared, bool commit_waits, size_t max_calls,
                       const QuotaLimits& quotas)
    : shared_(shared),
      room_(commit_waits),
      calls_{LiveCalls(max_calls), LiveCalls(max_calls), LiveCalls(max_calls)},
      quotas_(quotas,
              [this](const std::string& job) {
                return !absl::IsNotFound(jobs().Find(job).status());
              }),
      service_(MakePackingService(environment())),
      profile_service_(MakeCostProfileService(environment())) {
  grpc::ServerBuilder builder;
  builder.RegisterService(service_.get());
  builder.RegisterService(profile_service_.get());
  server_ = builder.BuildAndStart();
  const auto channel = server_->InProcessChannel(grpc::ChannelArguments());
  stub_ = v1::PackingService::NewStub(channel);
  profile_stub_ = v1::CostProfileService::NewStub(channel);
}

TestServer::~TestServer() {
  room().store().Release();
  if (shared_ != nullptr) shared_->directory().Close();
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

grpc::Status TestServer::Create(const std::string& name, const v1::JobSpec& spec,
                                v1::Job* job) {
  grpc::ClientContext context;
  v1::CreateJobRequest request;
  request.set_name(name);
  *request.mutable_spec() = spec;
  v1::CreateJobResponse response;
  grpc::Status status = stub_->CreateJob(&context, request, &response);
  if (job != nullptr) *job = response.job();
  return status;
}

grpc::Status TestServer::Delete(const std::string& name) {
  grpc::ClientContext context;
  v1::DeleteJobRequest request;
  request.set_name(name);
  v1::DeleteJobResponse response;
  return stub_->DeleteJob(&context, request, &response);
}

v1::Job TestServer::Get(const std::string& name) {
  grpc::ClientContext context;
  v1::GetJobRequest request;
  request.set_name(name);
  v1::GetJobResponse response;
  const grpc::Status status = stub_->GetJob(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.job();
}

grpc::Status TestServer::Acknowledge(const std::string& job, uint32_t dp_rank,
                                     uint64_t step, uint64_t epoch) {
  grpc::ClientContext context;
  v1::AcknowledgeRequest request;
  request.set_job(job);
  request.set_dp_rank(dp_rank);
  request.set_step(step);
  request.set_epoch(epoch);
  v1::AcknowledgeResponse response;
  return stub_->Acknowledge(&context, request, &response);
}

void TestServer::WaitUntilNoCalls() {
  for (LiveCalls* calls : {&calls_.ingest, &calls_.steps, &calls_.groups}) {
    calls->WaitUntilNone(std::chrono::minutes(4));
    EXPECT_EQ(calls->size(), 0U);
  }
}

IngestClient::IngestClient(TestServer& server, const std::string& job,
                           const std::string& stream)
    : IngestClient(server) {
  EXPECT_TRUE(Open(job, stream));
  EXPECT_TRUE(Read().has_value());
}

IngestClient::~IngestClient() {
  if (finished_) return;
  Cancel();
  Finish();
}

bool IngestClient::Open(const std::string& job, const std::string& stream) {
  v1::IngestRequest request;
  request.mutable_open()->set_job(job);
  request.mutable_open()->set_stream(stream);
  return Write(request);
}

bool IngestClient::Send(uint64_t first_sequence, const std::vector<uint32_t>& lengths) {
  v1::IngestRequest request;
  request.mutable_batch()->set_first_sequence(first_sequence);
  request.mutable_batch()->mutable_length()->Add(lengths.begin(), lengths.end());
  return Write(request);
}

bool IngestClient::End(uint64_t documents) {
  v1::IngestRequest request;
  request.mutable_end_of_stream()->set_documents(documents);
  return Write(request);
}

std::optional<v1::IngestResponse> IngestClient::Read() {
  v1::IngestResponse response;
  if (!stream_->Read(&response)) return std::nullopt;
  return response;
}

void IngestClient::ReadUntil(uint64_t next_sequence) {
  uint64_t told = 0;
  while (told < next_sequence) {
    const auto response = Read();
    if (!response.has_value()) break;
    EXPECT_GE(response->next_sequence(), told);
    told = response->next_sequence();
  }
  EXPECT_EQ(told, next_sequence);
}

grpc::Status IngestClient::Finish() {
  finished_ = true;
  while (Read().has_value()) {
  }
  return stream_->Finish();
}

StepsClient::StepsClient(TestServer& server, const v1::Subscribe& subscribe)
    : StepsClient(server) {
  EXPECT_TRUE(Subscribe(subscribe));
}

StepsClient::~StepsClient() {
  if (finished_) return;
  Cancel();
  Finish();
}

bool StepsClient::Subscribe(const v1::Subscribe& subscribe) {
  v1::StreamStepsRequest request;
  *request.mutable_subscribe() = subscribe;
  return Write(request);
}

bool StepsClient::Received(uint64_t step) {
  v1::StreamStepsRequest request;
  request.mutable_received()->set_step(step);
  return Write(request);
}

bool StepsClient::Durable(uint64_t step, uint64_t epoch) {
  v1::StreamStepsRequest request;
  request.mutable_durable()->set_step(step);
  request.mutable_durable()->set_epoch(epoch);
  return Write(request);
}

std::optional<v1::StreamStepsResponse> StepsClient::Read() {
  v1::StreamStepsResponse response;
  if (!stream_->Read(&response)) return std::nullopt;
  return response;
}

v1::Subscribed StepsClient::ReadSubscribed() {
  const auto response = Read().value_or(v1::StreamStepsResponse());
  EXPECT_TRUE(response.has_subscribed()) << response.ShortDebugString();
  return response.subscribed();
}

v1::Step StepsClient::ReadStep() {
  const auto response = Read().value_or(v1::StreamStepsResponse());
  EXPECT_TRUE(response.has_step()) << response.ShortDebugString();
  return response.step();
}

v1::Drained StepsClient::ReadDrained() {
  const auto response = Read().value_or(v1::StreamStepsResponse());
  EXPECT_TRUE(response.has_drained()) << response.ShortDebugString();
  return response.drained();
}

uint64_t StepsClient::ReadMarked() {
  const auto response = Read().value_or(v1::StreamStepsResponse());
  EXPECT_TRUE(response.has_durable_marked()) << response.ShortDebugString();
  return response.durable_marked().durable_steps();
}

grpc::Status StepsClient::Finish() {
  finished_ = true;
  while (Read().has_value()) {
  }
  return stream_->Finish();
}

v1::Subscribe SubscribeTo(const std::string& job, uint32_t dp_rank) {
  v1::Subscribe subscribe;
  subscribe.set_job(job);
  subscribe.set_dp_rank(dp_rank);
  return subscribe;
}

}  // namespace evenpack::testing
