#include "server/app/transport_limits.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>

#include <algorithm>
#include <cstdint>

#include "server/service/without_compression.h"

namespace evenpack {
namespace {

// Above the 8 KiB in which gRPC collects them (docs/adr/0063).
constexpr int kTlsFrameBytes = 8448;

// Of gRPC's reflection, each of whose streams has one; calls beyond are refused.
constexpr int kMostServiceThreads = 64;

int Milliseconds(uint64_t from_seconds) {
  return static_cast<int>(std::min<uint64_t>(from_seconds * 1000, 2'000'000'000));
}

}  // namespace

void SetTransportLimits(const ServerOptions& options, grpc::ServerBuilder& builder) {
  LeaveOutCompression(builder);
  builder.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
  builder.SetMaxSendMessageSize(static_cast<int>(options.max_message_bytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE,
                             static_cast<int>(options.max_metadata_bytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             static_cast<int>(options.max_connection_streams));
  builder.AddChannelArgument(GRPC_ARG_TSI_MAX_FRAME_SIZE, kTlsFrameBytes);
  grpc::ResourceQuota quota("evenpack-server");
  quota.SetMaxThreads(kMostServiceThreads);
  if (options.max_transport_bytes > 0) quota.Resize(options.max_transport_bytes);
  builder.SetResourceQuota(quota);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                             Milliseconds(options.keepalive_seconds));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             Milliseconds(options.keepalive_timeout_seconds));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // Nor is one waited for longer that does not come to its first call.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             Milliseconds(options.keepalive_seconds));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             Milliseconds(options.min_ping_seconds));
  if (options.max_connection_age_seconds > 0) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                               Milliseconds(options.max_connection_age_seconds));
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                               Milliseconds(options.connection_age_grace_seconds));
  }
}

}  // namespace evenpack
