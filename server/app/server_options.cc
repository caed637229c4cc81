#include "server/app/server_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/app/config_file.h"
#include "server/payload/payload_root.h"
#include "server/runtime/program_flags.h"
#include "server/store/open_store.h"

namespace evenpack {
namespace {

constexpr uint64_t kMostSeconds = uint64_t{365} * 86'400;
constexpr uint64_t kMostBytes = std::numeric_limits<int32_t>::max();

void AddAddresses(CLI::App& app, ServerOptions& options) {
  app.add_option("--listen", options.listen,
                 "HOST:PORT of the gRPC service; port 0 takes any that is free")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  app.add_option("--advertise", options.advertise,
                 "HOST:PORT at which clients that other servers of the same database "
                 "send here reach this one; without it: the address that it listens "
                 "on, with the machine's name in place of a wildcard; port 0 or none "
                 "is the one listened on")
      ->type_name("HOST:PORT");
  app.add_option("--http-listen", options.http_listen,
                 "HOST:PORT of the live page and /metrics; empty for no HTTP port")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  app.add_option("--health-listen", options.health_listen,
                 "HOST:PORT of a gRPC port with grpc.health.v1 alone, for probes that "
                 "have no certificates; empty for none")
      ->type_name("HOST:PORT");
  app.add_option("--channelz", options.channelz,
                 "gRPC's channelz service; auto: where --listen is on loopback")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->capture_default_str();
}

// What is wrong with the value of a flag that needs none; empty where nothing is.
// CLI11 would count with a number.
std::string CheckSwitch(const std::string& value) {
  const std::string lower = absl::AsciiStrToLower(value);
  for (const char* known : {"true", "false", "yes", "no", "on", "off", "1", "0"}) {
    if (lower == known) return "";
  }
  return absl::StrCat("'", value,
                      "' is not accepted; accepted: true, false, yes, no, on, off");
}

void AddSecurity(CLI::App& app, ServerOptions& options) {
  app.add_option("--tls-certificate", options.tls_certificate,
                 "PEM file of the certificate of --listen, and those up to its "
                 "authority; read again when it changes; none: no TLS")
      ->type_name("FILE");
  app.add_option("--tls-key", options.tls_key, "PEM file of its key")
      ->type_name("FILE");
  app.add_option("--tls-client-ca", options.tls_client_ca,
                 "PEM file of the authorities that verify clients' certificates; none: "
                 "clients show none")
      ->type_name("FILE");
  app.add_option("--tls-client-certificates", options.tls_client_certificates,
                 "with --tls-client-ca, whether clients must show one; request: a "
                 "token does in its place")
      ->check(CLI::IsMember({"require", "request"}))
      ->default_str("require");
  app.add_option("--roles", options.roles,
                 "YAML file of who may do what; read again when it changes; none: "
                 "everyone may do everything")
      ->type_name("FILE");
  app.add_flag("--insecure", options.insecure,
               "let others than this machine reach --listen without TLS and roles")
      ->check(CLI::Validator(CheckSwitch, ""));
}

void AddLimits(CLI::App& app, ServerOptions& options) {
  AddNumber(app, "--max-jobs", options.max_jobs, 1, 1'000'000, "jobs at a time");
  AddNumber(app, "--max-step-streams", options.max_step_streams, 1, 1'000'000,
            "subscriptions at a time");
  AddNumber(app, "--max-ingest-streams", options.max_ingest_streams, 1, 1'000'000,
            "producers at a time");
  AddNumber(app, "--max-group-streams", options.max_group_streams, 1, 1'000'000,
            "members of context-parallel groups at a time");
  for (const Quota quota : kAllQuotas) {
    const QuotaName name = NameOf(quota);
    AddNumber(app, absl::StrCat("--", name.flag),
              options.quotas[static_cast<size_t>(quota)], 0, 1'000'000,
              absl::StrCat(name.what, ", of each ", name.holder,
                           "; 0: no bound beside the server's"));
  }
  AddNumber(app, "--max-message-bytes", options.max_message_bytes, 1024, kMostBytes,
            "bytes of a message, either way");
  AddNumber(app, "--max-metadata-bytes", options.max_metadata_bytes, 1024, kMostBytes,
            "bytes of a call's metadata");
  AddNumber(app, "--max-connection-streams", options.max_connection_streams, 1,
            kMostBytes,
            "calls of a connection; others wait at the client, and are told nothing");
  AddNumber(app, "--max-transport-bytes", options.max_transport_bytes, 0,
            uint64_t{1} << 40,
            "bytes of gRPC's buffers of all connections; where they run out calls end; "
            "0: no bound");
  AddNumber(app, "--max-unclaimed-bytes", options.max_unclaimed_bytes, 1 << 20,
            uint64_t{1} << 40,
            "bytes of all connections of which no call and no whole message came yet; "
            "beyond, who has the most is cut");
  AddNumber(app, "--step-cache-bytes", options.step_cache_bytes, 0, uint64_t{1} << 40,
            "bytes of encoded steps kept for subscribers of the same view");
  AddNumber(app, "--max-metric-jobs", options.max_metric_jobs, 0, 1'000'000,
            "jobs that /metrics shows");
  AddNumber(app, "--wake-threads", options.wake_threads, 0, 1024,
            "threads that wake subscribers; 0: one for each processor");
}

void AddTimes(CLI::App& app, ServerOptions& options) {
  AddNumber(app, "--keepalive-seconds", options.keepalive_seconds, 1, kMostSeconds,
            "silence after which a client is asked whether it is alive");
  AddNumber(app, "--keepalive-timeout-seconds", options.keepalive_timeout_seconds, 1,
            kMostSeconds, "how long it may take to answer");
  AddNumber(app, "--min-ping-seconds", options.min_ping_seconds, 0, kMostSeconds,
            "clients that ping more often are cut off");
  AddNumber(app, "--max-connection-age-seconds", options.max_connection_age_seconds, 0,
            kMostSeconds, "age at which a connection is closed; 0: never");
  AddNumber(app, "--connection-age-grace-seconds", options.connection_age_grace_seconds,
            0, kMostSeconds, "how long calls may go on then");
  AddNumber(app, "--drain-seconds", options.drain_seconds, 0, kMostSeconds,
            "what a shutdown may take after SIGTERM, SIGINT or SIGHUP");
  AddNumber(app, "--store-wait-seconds", options.store_wait_seconds, 0, kMostSeconds,
            "how long a start waits for a store that is away; 0: not at all");
}

// What is wrong with a flag's value; empty where nothing is. CLI11 names the flag.
std::string WithoutField(absl::string_view field, const absl::Status& status) {
  return std::string(absl::StripPrefix(status.message(), absl::StrCat(field, ": ")));
}

void AddOthers(CLI::App& app, ServerOptions& options, std::string& config) {
  app.add_option("--store", options.store,
                 "where jobs are kept; memory: lost with the process; sqlite:PATH: a "
                 "file on a local disk; postgresql:TARGET: a database, as libpq names "
                 "it, that several servers may share")
      ->type_name("memory|sqlite:PATH|postgresql:TARGET")
      ->check([](const std::string& name) {
        return WithoutField("store", CheckStoreName(name));
      })
      ->capture_default_str();
  app.add_option("--payload-root", options.payload_root,
                 "a folder whose files the server reads for producers that name them "
                 "in place of token ids; none: no file is read")
      ->type_name("FOLDER")
      ->check([](const std::string& folder) {
        return WithoutField("payload-root", PayloadRoot::Open(folder).status());
      });
  AddLogFlags(app, options.log_level, options.log_format);
  app.add_option(
         "--config", config,
         "a YAML file with flags as 'flag: value' lines, without dashes; a flag "
         "given here goes before it")
      ->type_name("FILE");
}

absl::Status Refused(const std::string& message) {
  return absl::InvalidArgumentError(message);
}

// The file's flags that the command line does not give.
absl::StatusOr<std::vector<ConfigValue>> NotGiven(
    const std::vector<ConfigValue>& values, const CLI::App& app) {
  std::vector<ConfigValue> not_given;
  for (const ConfigValue& value : values) {
    const std::string flag = absl::StrCat("--", value.name);
    const CLI::Option* option = app.get_option_no_throw(flag);
    if (option == nullptr || value.name == "config" || value.name == "help" ||
        value.name == "version") {
      return Refused(absl::StrCat("config: line ", value.line, ": '", value.name,
                                  "' is not accepted; accepted: the flags of "
                                  "evenpack-server --help, without dashes"));
    }
    if (option->count() == 0) not_given.push_back(value);
  }
  return not_given;
}

// CLI11 takes "--flag=" for a flag without its value, and "--flag" "" for an empty one.
std::vector<std::string> WithEmptyValues(const std::vector<std::string>& arguments) {
  std::vector<std::string> split;
  for (const std::string& argument : arguments) {
    const size_t equals = argument.find('=');
    if (argument.starts_with("--") && equals + 1 == argument.size()) {
      split.push_back(argument.substr(0, equals));
      split.emplace_back();
    } else {
      split.push_back(argument);
    }
  }
  return split;
}

// One parse of one set of arguments.
class Parser {
 public:
  Parser() {
    app_.set_version_flag("--version",
                          absl::StrCat("evenpack-server ", EVENPACK_VERSION));
    AddAddresses(app_, command_.options);
    AddSecurity(app_, command_.options);
    AddOthers(app_, command_.options, config_);
    AddLimits(app_, command_.options);
    AddTimes(app_, command_.options);
  }

  absl::Status Parse(const std::vector<std::string>& given) {
    // Of a flag that needs no value, an empty one would be an argument of its own.
    if (std::find(given.begin(), given.end(), "--insecure=") != given.end()) {
      return Refused(absl::StrCat("--insecure: ", CheckSwitch("")));
    }
    absl::StatusOr<std::string> text = ParseArguments(app_, WithEmptyValues(given));
    if (!text.ok()) return text.status();
    command_.text = *std::move(text);
    return absl::OkStatus();
  }

  const CLI::App& app() const { return app_; }
  const std::string& config() const { return config_; }
  const ServerCommand& command() const { return command_; }

 private:
  ServerCommand command_;
  std::string config_;
  CLI::App app_{
      "Packs document streams into balanced micro-batches and streams them to "
      "the ranks of training runs.",
      "evenpack-server"};
};

}  // namespace

absl::StatusOr<ServerCommand> ReadServerCommand(
    const std::vector<std::string>& arguments) {
  Parser given;
  if (absl::Status status = given.Parse(arguments); !status.ok()) return status;
  if (given.config().empty() || !given.command().text.empty()) return given.command();
  const auto values = ReadConfigFile(given.config());
  if (!values.ok()) return values.status();
  const auto from_file = NotGiven(*values, given.app());
  if (!from_file.ok()) return from_file.status();
  std::vector<std::string> all_arguments = arguments;
  for (const ConfigValue& value : *from_file) {
    all_arguments.push_back(absl::StrCat("--", value.name, "=", value.value));
    Parser alone;
    if (absl::Status status = alone.Parse({all_arguments.back()}); !status.ok()) {
      return Refused(absl::StrCat("config: line ", value.line, ": ", status.message()));
    }
  }
  Parser all;
  if (absl::Status status = all.Parse(all_arguments); !status.ok()) return status;
  return all.command();
}

}  // namespace evenpack
