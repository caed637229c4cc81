#include "tests/server/app/raw_grpc_client.h"

#include <utility>
#include <vector>

namespace evenpack::testing {

RawGrpcCall::RawGrpcCall(const std::shared_ptr<grpc::Channel>& channel,
                         const std::string& method, const std::string& request)
    : stub_(channel), stream_(stub_.PrepareCall(&context_, method, &queue_)) {
  stream_->StartCall(nullptr);
  Wait();
  const grpc::Slice slice(request);
  stream_->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
  Wait();
}

RawGrpcCall::~RawGrpcCall() {
  context_.TryCancel();
  queue_.Shutdown();
  while (Wait()) {
  }
}

std::optional<std::string> RawGrpcCall::Read() {
  grpc::ByteBuffer response;
  stream_->Read(&response, nullptr);
  if (!Wait()) return std::nullopt;
  std::vector<grpc::Slice> slices;
  if (!response.Dump(&slices).ok()) return std::nullopt;
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(slice.begin(), slice.end());
  }
  return bytes;
}

grpc::Status RawGrpcCall::Finish() {
  grpc::Status status;
  stream_->Finish(&status, nullptr);
  Wait();
  return status;
}

bool RawGrpcCall::Wait() {
  void* tag = nullptr;
  bool ok = false;
  return queue_.Next(&tag, &ok) && ok;
}

}  // namespace evenpack::testing
