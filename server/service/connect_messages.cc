#include "server/service/connect_messages.h"

#include "evenpack/v1/packing_service.pb.h"
#include "server/service/message_bytes.h"

namespace evenpack {
namespace {

grpc::ByteBuffer Encode(const ConnectPeers& connect) {
  v1::JoinGroupResponse response;
  response.mutable_connect()->set_epoch(connect.epoch);
  for (const std::string& address : *connect.addresses) {
    response.mutable_connect()->add_addresses(address);
  }
  return MessageBytes(response);
}

}  // namespace

std::shared_ptr<const grpc::ByteBuffer> ConnectMessages::Get(
    const ConnectPeers& connect) {
  // Encoded under the lock, so that members who come at once don't each do it.
  MutexLock lock(mutex_);
  const auto found = messages_.find(connect.addresses);
  if (found != messages_.end() && found->second.epoch == connect.epoch) {
    if (auto known = found->second.bytes.lock(); known != nullptr) return known;
  }
  std::erase_if(messages_,
                [](const auto& each) { return each.second.bytes.expired(); });
  auto bytes = std::make_shared<const grpc::ByteBuffer>(Encode(connect));
  messages_[connect.addresses] = {connect.epoch, bytes};
  return bytes;
}

size_t ConnectMessages::size() const {
  MutexLock lock(mutex_);
  return messages_.size();
}

}  // namespace evenpack
