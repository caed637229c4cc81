#include "server/app/server_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/testing/scratch_path.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using evenpack::testing::ScratchFile;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::StartsWith;
using testing::StatusIs;

ServerOptions Options(const std::vector<std::string>& arguments) {
  const auto command = ReadServerCommand(arguments);
  EXPECT_THAT(command, IsOk());
  EXPECT_EQ(command->text, "");
  return command->options;
}

// A flag, a value of it, and where that value is to be found.
struct Flag {
  std::string name;
  std::string value;
  std::function<std::string(const ServerOptions&)> read;
};

const std::vector<Flag>& Flags() {
  const auto number = [](uint64_t ServerOptions::*member) {
    return [member](const ServerOptions& o) { return std::to_string(o.*member); };
  };
  const auto text = [](std::string ServerOptions::*member) {
    return [member](const ServerOptions& o) { return o.*member; };
  };
  const auto quota = [](Quota which) {
    return [which](const ServerOptions& o) {
      return std::to_string(o.quotas[static_cast<size_t>(which)]);
    };
  };
  using O = ServerOptions;
  static const std::vector<Flag> flags = {
      {"listen", "0.0.0.0:1", text(&O::listen)},
      {"http-listen", "[::1]:2", text(&O::http_listen)},
      {"advertise", "node-3:4", text(&O::advertise)},
      {"health-listen", "0.0.0.0:3", text(&O::health_listen)},
      {"tls-certificate", "chain", text(&O::tls_certificate)},
      {"tls-key", "key", text(&O::tls_key)},
      {"tls-client-ca", "ca", text(&O::tls_client_ca)},
      {"tls-client-certificates", "request", text(&O::tls_client_certificates)},
      {"roles", "roles", text(&O::roles)},
      {"store", "memory", text(&O::store)},
      {"payload-root", "/", text(&O::payload_root)},
      {"channelz", "off", text(&O::channelz)},
      {"max-jobs", "3", number(&O::max_jobs)},
      {"max-step-streams", "4", number(&O::max_step_streams)},
      {"max-group-streams", "6", number(&O::max_group_streams)},
      {"max-ingest-streams", "5", number(&O::max_ingest_streams)},
      {"max-peer-calls", "20", quota(Quota::kPeerCalls)},
      {"max-peer-ingest-streams", "21", quota(Quota::kPeerIngestStreams)},
      {"max-peer-step-streams", "22", quota(Quota::kPeerStepStreams)},
      {"max-peer-group-streams", "23", quota(Quota::kPeerGroupStreams)},
      {"max-peer-jobs", "24", quota(Quota::kPeerJobs)},
      {"max-job-ingest-streams", "25", quota(Quota::kJobIngestStreams)},
      {"max-job-step-streams", "26", quota(Quota::kJobStepStreams)},
      {"max-job-group-streams", "27", quota(Quota::kJobGroupStreams)},
      {"max-message-bytes", "6000", number(&O::max_message_bytes)},
      {"max-metadata-bytes", "6001", number(&O::max_metadata_bytes)},
      {"max-connection-streams", "28", number(&O::max_connection_streams)},
      {"max-transport-bytes", "29", number(&O::max_transport_bytes)},
      {"max-unclaimed-bytes", "1048577", number(&O::max_unclaimed_bytes)},
      {"step-cache-bytes", "7", number(&O::step_cache_bytes)},
      {"keepalive-seconds", "8", number(&O::keepalive_seconds)},
      {"keepalive-timeout-seconds", "9", number(&O::keepalive_timeout_seconds)},
      {"min-ping-seconds", "11", number(&O::min_ping_seconds)},
      {"max-connection-age-seconds", "12", number(&O::max_connection_age_seconds)},
      {"connection-age-grace-seconds", "13", number(&O::connection_age_grace_seconds)},
      {"drain-seconds", "14", number(&O::drain_seconds)},
      {"store-wait-seconds", "17", number(&O::store_wait_seconds)},
      {"wake-threads", "15", number(&O::wake_threads)},
      {"max-metric-jobs", "16", number(&O::max_metric_jobs)},
      {"log-level", "error",
       [](const O& o) { return o.log_level == LogLevel::kError ? "error" : "other"; }},
      {"log-format", "json",
       [](const O& o) { return o.log_format == LogFormat::kJson ? "json" : "other"; }},
  };
  return flags;
}

// The path of a configuration file with this text.
std::string ConfigOf(const std::string& text) {
  return ScratchFile("server_options_test.yaml", text);
}

TEST(ServerOptionsTest, WithoutFlagsAreTheDefaults) {
  const ServerOptions given = Options({});
  const ServerOptions defaults;
  for (const Flag& flag : Flags()) EXPECT_EQ(flag.read(given), flag.read(defaults));
  EXPECT_EQ(given.listen, "127.0.0.1:7654");
  EXPECT_EQ(given.http_listen, "127.0.0.1:7655");
  EXPECT_EQ(given.max_message_bytes, 16U << 20);
  EXPECT_EQ(given.drain_seconds, 20U);
  EXPECT_EQ(given.log_level, LogLevel::kInfo);
}

TEST(ServerOptionsTest, InsecureIsAFlagThatNeedsNoValue) {
  EXPECT_FALSE(Options({}).insecure);
  EXPECT_TRUE(Options({"--insecure"}).insecure);
  EXPECT_TRUE(Options({"--insecure=true"}).insecure);
  EXPECT_FALSE(Options({"--insecure=false"}).insecure);
  for (const char* yes : {"yes", "on", "1", "True"}) {
    EXPECT_TRUE(Options({std::string("--insecure=") + yes}).insecure) << yes;
  }
  for (const char* no : {"no", "off", "0", "FALSE"}) {
    EXPECT_FALSE(Options({std::string("--insecure=") + no}).insecure) << no;
  }
  EXPECT_TRUE(Options({"--config=" + ConfigOf("insecure: true\n")}).insecure);
}

TEST(ServerOptionsTest, EveryFlagIsTakenInBothForms) {
  for (const Flag& flag : Flags()) {
    EXPECT_EQ(flag.read(Options({"--" + flag.name, flag.value})), flag.value);
    EXPECT_EQ(flag.read(Options({"--" + flag.name + "=" + flag.value})), flag.value);
  }
}

TEST(ServerOptionsTest, EveryFlagIsTakenFromTheFile) {
  std::string text;
  for (const Flag& flag : Flags()) text += flag.name + ": '" + flag.value + "'\n";
  const ServerOptions options = Options({"--config", ConfigOf(text)});
  for (const Flag& flag : Flags()) EXPECT_EQ(flag.read(options), flag.value);
}

TEST(ServerOptionsTest, AFlagGivenGoesBeforeTheSameInTheFile) {
  const std::string path =
      ConfigOf("max-jobs: 5\nlisten: 0.0.0.0:1\nlog-level: error\n");
  const ServerOptions options =
      Options({"--max-jobs=7", "--config", path, "--log-level", "debug"});
  EXPECT_EQ(options.max_jobs, 7U);
  EXPECT_EQ(options.log_level, LogLevel::kDebug);
  EXPECT_EQ(options.listen, "0.0.0.0:1");
}

TEST(ServerOptionsTest, TheHttpPortCanBeLeftOut) {
  EXPECT_EQ(Options({"--http-listen", ""}).http_listen, "");
  EXPECT_EQ(Options({"--http-listen="}).http_listen, "");
  EXPECT_EQ(Options({"--config", ConfigOf("http-listen: ''\n")}).http_listen, "");
}

TEST(ServerOptionsTest, HelpNamesEveryFlagWithItsDefault) {
  for (const char* flag : {"--help", "-h"}) {
    const auto command = ReadServerCommand({flag});
    ASSERT_THAT(command, IsOk());
    for (const Flag& each : Flags()) {
      EXPECT_THAT(command->text, HasSubstr("--" + each.name + " ")) << each.name;
    }
    EXPECT_THAT(command->text, AllOf(HasSubstr("--config"), HasSubstr("127.0.0.1:7654"),
                                     HasSubstr("16777216"), HasSubstr("HOST:PORT")));
  }
  EXPECT_THAT(ReadServerCommand({"--version"})->text,
              ::testing::MatchesRegex("evenpack-server [0-9]+[.][0-9]+[.][0-9]+\n"));
}

TEST(ServerOptionsTest, WrongFlagsAreRefusedByName) {
  struct {
    std::vector<std::string> arguments;
    std::string message;
  } const cases[] = {
      {{"--max-jobs", "0"}, "--max-jobs"},
      {{"--max-jobs", "1000001"}, "--max-jobs"},
      {{"--max-jobs", "many"}, "--max-jobs"},
      {{"--max-jobs", "-1"}, "--max-jobs"},
      {{"--max-jobs", "18446744073709551617"}, "--max-jobs"},
      {{"--max-jobs"}, "--max-jobs"},
      {{"--max-step-streams", "0"}, "--max-step-streams"},
      {{"--max-group-streams", "0"}, "--max-group-streams"},
      {{"--max-ingest-streams", "0"}, "--max-ingest-streams"},
      {{"--max-message-bytes", "1023"}, "--max-message-bytes"},
      {{"--max-message-bytes", "2147483648"}, "--max-message-bytes"},
      {{"--max-peer-calls", "-1"}, "--max-peer-calls"},
      {{"--max-job-step-streams", "1000001"}, "--max-job-step-streams"},
      {{"--max-metadata-bytes", "1023"}, "--max-metadata-bytes"},
      {{"--max-connection-streams", "0"}, "--max-connection-streams"},
      {{"--max-transport-bytes", "1099511627777"}, "--max-transport-bytes"},
      {{"--max-unclaimed-bytes", "1048575"}, "--max-unclaimed-bytes"},
      {{"--keepalive-seconds", "0"}, "--keepalive-seconds"},
      {{"--keepalive-timeout-seconds", "0"}, "--keepalive-timeout-seconds"},
      {{"--drain-seconds", "31536001"}, "--drain-seconds"},
      {{"--wake-threads", "1025"}, "--wake-threads"},
      {{"--store", "sqlite"}, "--store: 'sqlite' is not accepted; accepted: memory"},
      {{"--payload-root", "/nowhere/at/all"},
       "--payload-root: '/nowhere/at/all' is not accepted"},
      {{"--channelz", "maybe"}, "--channelz"},
      {{"--insecure=2"}, "--insecure: '2' is not accepted; accepted: true, false"},
      {{"--insecure=-1"}, "--insecure: '-1' is not accepted; accepted: true, false"},
      {{"--insecure=maybe"}, "--insecure: 'maybe' is not accepted; accepted: true"},
      {{"--insecure="}, "--insecure: '' is not accepted; accepted: true, false"},
      {{"--log-level", "loud"}, "--log-level"},
      {{"--log-format", "xml"}, "--log-format"},
      {{"--unknown", "1"}, "--unknown"},
      {{"argument"}, "argument"},
  };
  for (const auto& wrong : cases) {
    EXPECT_THAT(ReadServerCommand(wrong.arguments),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(wrong.message)))
        << ::testing::PrintToString(wrong.arguments);
  }
}

TEST(ServerOptionsTest, WrongLinesOfTheFileAreNamed) {
  struct {
    std::string text;
    std::vector<std::string> says;
  } const cases[] = {
      {"listen: a:1\nmax-job: 7\n", {"config: line 2: 'max-job' is not accepted"}},
      {"listen: a:1\n\nmax-jobs: 0\n", {"config: line 3: ", "--max-jobs"}},
      {"log-level: loud\n", {"config: line 1: ", "--log-level"}},
      {"insecure: ''\n", {"config: line 1: --insecure: '' ", "accepted: true, false"}},
      {"insecure:\n", {"config: line 1: ", "accepted: "}},
      {"insecure: 2\n", {"config: line 1: --insecure: '2' ", "accepted: true, false"}},
      {"config: other.yaml\n", {"config: line 1: 'config' is not accepted"}},
      {"help: true\n", {"config: line 1: 'help' is not accepted"}},
      {"version: true\n", {"config: line 1: 'version' is not accepted"}},
      {"max-jobs: [1]\n", {"config: line 1: not a single value"}},
  };
  for (const auto& wrong : cases) {
    const absl::Status status =
        ReadServerCommand({"--config", ConfigOf(wrong.text)}).status();
    for (const std::string& part : wrong.says) {
      EXPECT_THAT(status,
                  StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(part)));
    }
  }
  EXPECT_THAT(ReadServerCommand({"--config", "/no/such/file"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("config: '/no/such/file' can't be read")));
}

TEST(ServerOptionsTest, AWrongLineThatAFlagTakesThePlaceOfIsNotLookedAt) {
  EXPECT_EQ(Options({"--config", ConfigOf("max-jobs: 0\n"), "--max-jobs=3"}).max_jobs,
            3U);
}

}  // namespace
}  // namespace evenpack
