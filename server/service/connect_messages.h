// What a group's members are told when they shall connect, as bytes for the transport:
// an evenpack.v1.JoinGroupResponse with the addresses of all.
#ifndef EVENPACK_SERVER_SERVICE_CONNECT_MESSAGES_H_
#define EVENPACK_SERVER_SERVICE_CONNECT_MESSAGES_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <map>
#include <memory>

#include "server/runtime/mutex.h"
#include "server/sessions/rank_group.h"

namespace evenpack {

// Encodes once for all members of an epoch, each of whom is told as much as all of them
// said. Thread-safe.
class ConnectMessages {
 public:
  // That of another member, as long as one holds it.
  std::shared_ptr<const grpc::ByteBuffer> Get(const ConnectPeers& connect);

  // Messages that are remembered.
  size_t size() const;

 private:
  struct Message {
    uint64_t epoch = 0;
    std::weak_ptr<const grpc::ByteBuffer> bytes;
  };
  // Weak, since the group has them for as long as they are told.
  using Key = std::weak_ptr<const GroupAddresses>;

  mutable Mutex mutex_;
  std::map<Key, Message, std::owner_less<Key>> messages_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_CONNECT_MESSAGES_H_
