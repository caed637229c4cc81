// Who calls, as quotas count them.
#ifndef EVENPACK_SERVER_SERVICE_PEER_H_
#define EVENPACK_SERVER_SERVICE_PEER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "server/access/decision.h"

namespace grpc {
class AuthContext;
class ServerContextBase;
}  // namespace grpc

namespace evenpack {

// The peer of a call: with a client certificate that was verified, "san=" and its first
// subject alternative name, or else "cn=" and its common name; without, where the
// caller (CallerOf) has a token, "token=" and how its SHA-256 begins in hex; else
// PeerOfAddress of where the call comes from. All with certificates of one name are one
// peer, and so are all without a name behind one proxy. `authenticated` may be null.
std::string PeerOf(const grpc::ServerContextBase& context, const Caller& caller);
// The same of its parts.
std::string PeerOf(const grpc::AuthContext* authenticated, const Caller& caller,
                   absl::string_view address);

// Of a transport's address as gRPC writes it ("ipv4:10.0.0.1:4711",
// "ipv6:%5B::1%5D:4711", "unix:/run/socket", "unix:"): the IP without its port, in the
// one form that inet_ntop gives it, IPv4 within IPv6 as IPv4, with the zone of a
// link-local address; "unix" for every Unix socket. What it can't read it gives back.
std::string PeerOfAddress(absl::string_view address);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_PEER_H_
