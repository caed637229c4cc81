// A channel with TLS and a token, where those are wanted.
#ifndef EVENPACK_CLIENT_CPP_SECURED_CHANNEL_H_
#define EVENPACK_CLIENT_CPP_SECURED_CHANNEL_H_

#include <memory>

#include "client/cpp/client_options.h"

namespace grpc {
class Channel;
class ChannelArguments;
}  // namespace grpc

namespace evenpack::client {

// To options.address, with options.security; the rest of the options is in `arguments`.
// Connects when first used. A changed file is noticed within a second, by a thread of
// the channel's. A token goes to no address that Validate() would refuse it for.
std::shared_ptr<grpc::Channel> MakeSecuredChannel(const ClientOptions& options,
                                                  grpc::ChannelArguments arguments);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_SECURED_CHANNEL_H_
