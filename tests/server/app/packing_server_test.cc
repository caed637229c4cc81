#include "server/app/packing_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "evenpack/v1/packing_service.grpc.pb.h"
#include "server/core/document/invalid_field.h"
#include "tests/server/app/raw_grpc_client.h"
#include "tests/server/app/served_job.h"
#include "tests/server/web/raw_client.h"
#include "tests/testing/fault_store.h"
#include "tests/testing/memory_store.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using testing::FreePort;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using ::testing::MatchesRegex;
using testing::RawGet;
using testing::RawGrpcCall;
using testing::ScratchDirectory;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::StatusIs;

constexpr char kService[] = "evenpack.v1.PackingService";
constexpr char kCheck[] = "/grpc.health.v1.Health/Check";
constexpr char kWatch[] = "/grpc.health.v1.Health/Watch";
// grpc.health.v1.HealthCheckResponse.status.
constexpr char kServing[] = "\x08\x01";
constexpr char kNotServing[] = "\x08\x02";

// A message whose one field is this text.
std::string TextField(int field, const std::string& text) {
  return std::string(1, static_cast<char>(field << 3 | 2)) +
         std::string(1, static_cast<char>(text.size())) + text;
}

ServerOptions AnyPorts() {
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.http_listen = "127.0.0.1:0";
  return options;
}

uint16_t PortOf(const std::string& address) {
  return static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

// Has somebody look each time that a job is read.
class LookedAtStore final : public StateStore {
 public:
  // `store` is what there is, and outlives it.
  LookedAtStore(StateStore& store, std::function<void()> look)
      : store_(store), look_(std::move(look)) {}

  absl::Status Commit(std::span<const StoreWrite> writes) override {
    return store_.Commit(writes);
  }
  bool CommitWaits() const override { return store_.CommitWaits(); }
  absl::StatusOr<std::vector<std::string>> Jobs() override { return store_.Jobs(); }
  absl::StatusOr<StoredJob> Load(const std::string& job) override {
    look_();
    return store_.Load(job);
  }
  absl::StatusOr<StoredProfiles> Profiles() override { return store_.Profiles(); }
  uint64_t SizeBytes() const override { return store_.SizeBytes(); }

 private:
  StateStore& store_;
  const std::function<void()> look_;
};

class PackingServerTest : public ::testing::Test {
 protected:
  void Start(const ServerOptions& options = AnyPorts()) {
    Started(PackingServer::Start(options));
  }
  void StartOver(std::unique_ptr<StateStore> store, const ServerOptions& options) {
    Started(PackingServer::StartOver(std::move(store), options));
  }
  void Started(absl::StatusOr<std::unique_ptr<PackingServer>> server) {
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    channel_ = grpc::CreateChannel(server_->grpc_address(),
                                   grpc::InsecureChannelCredentials());
    stub_ = v1::PackingService::NewStub(channel_);
  }
  grpc::Status Create(const std::string& name) {
    return testing::CreateJobAt(*stub_, name);
  }
  std::string HttpGet(const std::string& path) const {
    return RawGet(PortOf(server_->http_address()), path);
  }
  // One answer of a unary method.
  std::optional<std::string> Call(const std::string& method,
                                  const std::string& request) {
    return RawGrpcCall(channel_, method, request).Read();
  }

  std::unique_ptr<PackingServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::PackingService::Stub> stub_;
};

TEST_F(PackingServerTest, ServesOnThePortsThatItSays) {
  Start();
  EXPECT_THAT(server_->grpc_address(), MatchesRegex("127.0.0.1:[1-9][0-9]*"));
  EXPECT_THAT(server_->http_address(), MatchesRegex("127.0.0.1:[1-9][0-9]*"));
  EXPECT_TRUE(Create("job").ok());
  EXPECT_THAT(HttpGet("/readyz"), HasSubstr("HTTP/1.1 200"));
}

TEST_F(PackingServerTest, ServesWithoutAnHttpPortToo) {
  ServerOptions options = AnyPorts();
  options.http_listen = "";
  Start(options);
  EXPECT_EQ(server_->http_address(), "");
  EXPECT_EQ(server_->health_address(), "");
  EXPECT_TRUE(Create("job").ok());
}

TEST_F(PackingServerTest, HealthIsOfTheServerAndOfTheService) {
  Start();
  EXPECT_EQ(Call(kCheck, ""), kServing);
  EXPECT_EQ(Call(kCheck, TextField(1, kService)), kServing);
  RawGrpcCall unknown(channel_, kCheck, TextField(1, "other"));
  EXPECT_EQ(unknown.Read(), std::nullopt);
  EXPECT_EQ(unknown.Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(PackingServerTest, ADrainIsSeenByWhoWatchesBeforeThePortsClose) {
  Start();
  RawGrpcCall watch(channel_, kWatch, TextField(1, kService));
  EXPECT_EQ(watch.Read(), kServing);
  std::thread drain([this] { EXPECT_EQ(server_->Drain(), Drained::kAll); });
  EXPECT_EQ(watch.Read(), kNotServing);
  // Not ready, or gone already.
  EXPECT_THAT(HttpGet("/readyz"), Not(HasSubstr("HTTP/1.1 200")));
  drain.join();
  EXPECT_EQ(HttpGet("/readyz"), "");
  EXPECT_EQ(Create("job").error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(PackingServerTest, ThePortOfHealthAloneSaysTheSameAndNothingElse) {
  ServerOptions options = AnyPorts();
  options.health_listen = "127.0.0.1:0";
  Start(options);
  EXPECT_THAT(server_->health_address(), MatchesRegex("127.0.0.1:[1-9][0-9]*"));
  const auto port = grpc::CreateChannel(server_->health_address(),
                                        grpc::InsecureChannelCredentials());
  EXPECT_EQ(RawGrpcCall(port, kCheck, "").Read(), kServing);
  EXPECT_EQ(RawGrpcCall(port, kCheck, TextField(1, kService)).Read(), kServing);
  RawGrpcCall other(port, "/evenpack.v1.PackingService/ListJobs", "");
  EXPECT_EQ(other.Read(), std::nullopt);
  EXPECT_EQ(other.Finish().error_code(), grpc::StatusCode::UNIMPLEMENTED);
  RawGrpcCall watch(port, kWatch, TextField(1, kService));
  EXPECT_EQ(watch.Read(), kServing);
  std::thread drain([this] { EXPECT_EQ(server_->Drain(), Drained::kAll); });
  EXPECT_EQ(watch.Read(), kNotServing);
  drain.join();
  EXPECT_FALSE(watch.Finish().ok());
}

TEST_F(PackingServerTest, ADrainEndsStreamsOnceWhatTheyBeganIsAnswered) {
  Start();
  ASSERT_TRUE(Create("job").ok());
  grpc::ClientContext ingest_context;
  const auto ingest = stub_->Ingest(&ingest_context);
  v1::IngestRequest open;
  open.mutable_open()->set_job("job");
  open.mutable_open()->set_stream("a");
  ASSERT_TRUE(ingest->Write(open));
  v1::IngestResponse opened;
  ASSERT_TRUE(ingest->Read(&opened));
  grpc::ClientContext steps_context;
  const auto steps = stub_->StreamSteps(&steps_context);
  v1::StreamStepsRequest subscribe;
  subscribe.mutable_subscribe()->set_job("job");
  ASSERT_TRUE(steps->Write(subscribe));
  v1::StreamStepsResponse subscribed;
  ASSERT_TRUE(steps->Read(&subscribed));

  EXPECT_EQ(server_->Drain(), Drained::kAll);
  EXPECT_EQ(ingest->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(steps->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

constexpr const char* kCommitAge = "\nevenpack_store_commit_age_seconds ";

TEST_F(PackingServerTest, ADrainWaitsNoLongerThanItMayForAStoreThatHangs) {
  testing::MemoryStore memory;
  auto held = std::make_unique<testing::FaultStore>(memory);
  testing::FaultStore& store = *held;
  ServerOptions options = AnyPorts();
  options.drain_seconds = 0;
  StartOver(std::move(held), options);
  store.Block();
  auto created = std::async(std::launch::async, [this] { return Create("job"); });
  store.WaitUntilBlocked();
  // Nothing else tells of it.
  EXPECT_THAT(
      HttpGet("/metrics"),
      AllOf(HasSubstr("\nevenpack_store_commits_total 0\n"), HasSubstr(kCommitAge),
            Not(HasSubstr(absl::StrCat(kCommitAge, "0\n")))));
  EXPECT_EQ(server_->Drain(), Drained::kNotInTime);
  EXPECT_EQ(created.get().error_code(), grpc::StatusCode::UNAVAILABLE);
  store.Release();
  // Before what its store lies on.
  server_.reset();
}

TEST_F(PackingServerTest, ReflectionAndChannelzAreThere) {
  Start();
  const auto services =
      Call("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
           TextField(7, ""));
  EXPECT_THAT(services.value_or(""),
              AllOf(HasSubstr(kService), HasSubstr("grpc.health.v1.Health")));
  EXPECT_THAT(Call("/grpc.channelz.v1.Channelz/GetServers", "").value_or(""),
              HasSubstr("Server created"));
}

TEST_F(PackingServerTest, MetricsAreOfTheJobsAndTheServer) {
  Start();
  ASSERT_TRUE(Create("job").ok());
  EXPECT_FALSE(Create("job").ok());
  const std::string metrics = HttpGet("/metrics");
  EXPECT_THAT(metrics, HasSubstr("\nevenpack_jobs 1\n"));
  EXPECT_THAT(metrics,
              HasSubstr("\nevenpack_job_documents_accepted_total{job=\"job\","));
  EXPECT_THAT(metrics, HasSubstr("\nevenpack_store_commits_total 0\n"));
  EXPECT_THAT(metrics, HasSubstr(absl::StrCat(kCommitAge, "0\n")));
  EXPECT_THAT(metrics, HasSubstr("\nevenpack_errors_total{code=\"ALREADY_EXISTS\"} 1"));
}

TEST_F(PackingServerTest, TheLivePageAndWhatItReadsAreOnTheHttpPort) {
  Start();
  ASSERT_TRUE(Create("job").ok());
  EXPECT_THAT(HttpGet("/"), HasSubstr("<!doctype html>"));
  EXPECT_THAT(HttpGet("/pages"), HasSubstr("/api/v1/jobs"));
  EXPECT_THAT(HttpGet("/api/v1/jobs"), HasSubstr("\"name\":\"job\""));
  EXPECT_THAT(HttpGet("/api/v1/jobs/job"), HasSubstr("\"steps\":[]"));
  EXPECT_THAT(HttpGet("/api/v1/jobs/none"), HasSubstr("JOB_NOT_FOUND"));
}

TEST_F(PackingServerTest, NoJobIsDeniedWhileTheyAreRead) {
  testing::MemoryStore memory;
  StartOver(std::make_unique<testing::FaultStore>(memory), AnyPorts());
  ASSERT_TRUE(Create("a").ok());
  ASSERT_TRUE(Create("b").ok());
  server_.reset();
  ServerOptions options = AnyPorts();
  const uint16_t port = FreePort();
  options.http_listen = "127.0.0.1:" + std::to_string(port);
  std::vector<std::string> answers;
  std::vector<std::string> ready;
  StartOver(std::make_unique<LookedAtStore>(
                memory,
                [port, &answers, &ready] {
                  for (const char* path : {"", "/b", "/b/steps/1/micro-batches/0"}) {
                    answers.push_back(RawGet(port, std::string("/api/v1/jobs") + path));
                  }
                  ready.push_back(RawGet(port, "/readyz"));
                }),
            options);
  EXPECT_THAT(answers, AllOf(SizeIs(6), Each(HasSubstr("HTTP/1.1 503")),
                             Each(HasSubstr("\"server: it is starting")),
                             Each(HasSubstr("\"STARTING\""))));
  EXPECT_THAT(ready, AllOf(SizeIs(2), Each(HasSubstr("HTTP/1.1 503"))));
  EXPECT_THAT(HttpGet("/api/v1/jobs"),
              AllOf(HasSubstr("\"name\":\"a\""), HasSubstr("\"name\":\"b\"")));
  // Before what its store lies on.
  server_.reset();
}

TEST_F(PackingServerTest, LimitsAreThoseOfTheOptions) {
  ServerOptions options = AnyPorts();
  options.max_jobs = 1;
  options.max_message_bytes = 2000;
  options.max_ingest_streams = 1;
  Start(options);
  EXPECT_TRUE(Create("a").ok());
  EXPECT_EQ(Create("b").error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  const grpc::Status large = Create(std::string(3000, 'x'));
  EXPECT_EQ(large.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(large.error_message(), HasSubstr("larger than max"));
  grpc::ClientContext first_context;
  const auto first = stub_->Ingest(&first_context);
  v1::IngestRequest open;
  open.mutable_open()->set_job("a");
  open.mutable_open()->set_stream("a");
  ASSERT_TRUE(first->Write(open));
  v1::IngestResponse opened;
  ASSERT_TRUE(first->Read(&opened));
  grpc::ClientContext second_context;
  EXPECT_EQ(stub_->Ingest(&second_context)->Finish().error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(PackingServerTest, AddressesThatCannotBeHadAreNamedByTheirFlags) {
  Start();
  ServerOptions taken = AnyPorts();
  taken.listen = server_->grpc_address();
  EXPECT_THAT(PackingServer::Start(taken).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       "listen: can't listen on " + taken.listen +
                           ": Address already in use; accepted: HOST:PORT of this "
                           "machine with a port that is free"));
  ServerOptions http_taken = AnyPorts();
  http_taken.http_listen = server_->http_address();
  EXPECT_THAT(
      PackingServer::Start(http_taken).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(StartsWith("http-listen: "), HasSubstr(http_taken.http_listen))));
  for (const char* address : {"", "localhost", "127.0.0.1:99999", ":1"}) {
    ServerOptions wrong = AnyPorts();
    wrong.listen = address;
    const absl::Status status = PackingServer::Start(wrong).status();
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("listen: ")));
    EXPECT_EQ(RefusedField(status), "listen");
  }
  ServerOptions health_taken = AnyPorts();
  health_taken.health_listen = server_->grpc_address();
  EXPECT_THAT(PackingServer::Start(health_taken).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(StartsWith("health-listen: "), HasSubstr(taken.listen))));
  ServerOptions wrong_http = AnyPorts();
  wrong_http.http_listen = "nowhere";
  EXPECT_EQ(RefusedField(PackingServer::Start(wrong_http).status()), "http-listen");
  // The first goes on.
  EXPECT_TRUE(Create("job").ok());
}

TEST_F(PackingServerTest, WhyItCannotListenIsSaid) {
  ServerOptions options = AnyPorts();
  options.insecure = true;
  // An address for documentation, which no machine has.
  options.listen = "192.0.2.1:0";
  EXPECT_THAT(PackingServer::Start(options).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(StartsWith("listen: can't listen on 192.0.2.1:0: "),
                             HasSubstr("assign requested address"),
                             HasSubstr("; accepted: HOST:PORT of this machine"))));
  options.listen = "no-such-host.invalid:0";
  EXPECT_THAT(PackingServer::Start(options).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       StartsWith("listen: 'no-such-host.invalid:0' is not "
                                  "accepted; accepted: a host that")));
}

TEST_F(PackingServerTest, MayListenOnAName) {
  ServerOptions options = AnyPorts();
  options.listen = "localhost:0";
  Start(options);
  EXPECT_THAT(server_->grpc_address(), MatchesRegex("localhost:[1-9][0-9]*"));
  EXPECT_TRUE(Create("job").ok());
}

TEST_F(PackingServerTest, WhatIsRefusedForItsFlagsMakesNoStore) {
  struct Row {
    std::string ServerOptions::*flag;
    const char* value;
  };
  using O = ServerOptions;
  const ScratchDirectory folder;
  for (const Row& row : {Row{&O::listen, "0.0.0.0:0"},
                         {&O::listen, "nowhere"},
                         {&O::http_listen, "nowhere"},
                         {&O::health_listen, "nowhere"},
                         {&O::advertise, "a b"},
                         {&O::tls_key, "none"},
                         {&O::roles, "/nowhere/at/all"},
                         {&O::payload_root, "/nowhere/at/all"}}) {
    ServerOptions options = AnyPorts();
    options.store = "sqlite:" + folder.File("new.db");
    options.*row.flag = row.value;
    EXPECT_THAT(PackingServer::Start(options).status(),
                StatusIs(kInvalid, HasSubstr("accepted: ")))
        << row.value;
    EXPECT_FALSE(std::filesystem::exists(folder.File("new.db"))) << row.value;
  }
}

}  // namespace
}  // namespace evenpack
