// A stub that gives no credit back: for a follower that acknowledges nothing.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_CREDITLESS_STUB_H_
#define EVENPACK_CLIENT_CLI_ONLINE_CREDITLESS_STUB_H_

#include <memory>

#include "client/cpp/stub.h"

namespace evenpack {

// `stub` with calls of StreamSteps that leave out the client's `received` messages: a
// subscription then gets as many steps as it has credits, and no more.
std::shared_ptr<client::Stub> WithoutReceived(std::shared_ptr<client::Stub> stub);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_CREDITLESS_STUB_H_
