// What evenpack-server is told on its command line and in its configuration file.
#ifndef EVENPACK_SERVER_APP_SERVER_OPTIONS_H_
#define EVENPACK_SERVER_APP_SERVER_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/runtime/log.h"
#include "server/service/quota.h"

namespace evenpack {

// The defaults are those of the flags.
struct ServerOptions {
  // HOST:PORT; port 0 takes any that is free.
  std::string listen = "127.0.0.1:7654";
  // HOST or HOST:PORT that servers of the same store send clients to; empty: `listen`.
  std::string advertise = {};
  // HOST:PORT; empty: no HTTP port.
  std::string http_listen = "127.0.0.1:7655";
  // The same of a port with grpc.health.v1 alone, never with TLS; empty: none.
  std::string health_listen = {};
  // Of the gRPC port, both or neither: PEM files of its chain and key. Empty: no TLS.
  std::string tls_certificate = {};
  std::string tls_key = {};
  // A PEM file of the authorities that verify clients; empty: none shows a certificate.
  std::string tls_client_ca = {};
  // Where there is one, whether clients must: "require", as also where it is empty, or
  // "request".
  std::string tls_client_certificates = {};
  // The YAML file of who may do what (server/access/roles_file.h); empty: everyone who
  // gets in may do everything.
  std::string roles = {};
  // `listen` may be reached by others without TLS and roles.
  bool insecure = false;
  // Where jobs are kept: "memory", "sqlite:PATH" or "postgresql:TARGET".
  std::string store = "memory";
  // The folder whose files are read for jobs with payload by value; empty: none is.
  std::string payload_root = {};
  uint64_t max_jobs = 1000;
  uint64_t max_step_streams = 16384;
  uint64_t max_ingest_streams = 4096;
  uint64_t max_group_streams = 16384;
  // Of a peer and of a job, by Quota.
  QuotaLimits quotas = kDefaultQuotaLimits;
  // Of a message, either way.
  uint64_t max_message_bytes = 16 << 20;
  // Of a call's metadata as HPACK counts it, 32 bytes for each field included.
  uint64_t max_metadata_bytes = 8192;
  // Calls of a connection; others wait at the client, and are told nothing.
  uint64_t max_connection_streams = 32'768;
  // Of gRPC's buffers of all connections; 0: no bound.
  uint64_t max_transport_bytes = 0;
  // That connections sent and of which no call and no whole message came yet, together.
  uint64_t max_unclaimed_bytes = 512 << 20;
  // Encoded steps kept for subscribers of the same view.
  uint64_t step_cache_bytes = 16 << 20;
  // Silence after which a client is asked whether it is alive, and for how long.
  uint64_t keepalive_seconds = 60;
  uint64_t keepalive_timeout_seconds = 20;
  // Clients that ask the server more often are cut off.
  uint64_t min_ping_seconds = 10;
  // Age at which a connection is closed, and how long its calls may go on then. 0:
  // none.
  uint64_t max_connection_age_seconds = 0;
  uint64_t connection_age_grace_seconds = 60;
  // What a shutdown may take.
  uint64_t drain_seconds = 20;
  // What a server that starts waits for a store that is away.
  uint64_t store_wait_seconds = 0;
  // Threads that wake subscribers; 0: one for each processor.
  uint64_t wake_threads = 0;
  // gRPC's channelz service: auto is where `listen` is on the loopback interface.
  std::string channelz = "auto";
  // Jobs that /metrics shows.
  uint64_t max_metric_jobs = 200;
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
};

struct ServerCommand {
  ServerOptions options;
  // The help or the version: to be printed instead of serving.
  std::string text;
};

// `arguments` without the program's name. A flag on the command line goes before the
// same in the file that --config names: YAML, one "flag: value" a line, without dashes.
// INVALID_ARGUMENT naming the flag, or the file and line.
absl::StatusOr<ServerCommand> ReadServerCommand(
    const std::vector<std::string>& arguments);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_SERVER_OPTIONS_H_
