// A stub over the stubs of several servers, which share the jobs of a database.
#ifndef EVENPACK_CLIENT_CPP_ROUTED_STUB_H_
#define EVENPACK_CLIENT_CPP_ROUTED_STUB_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/cpp/leader_map.h"
#include "client/cpp/stub.h"

namespace evenpack::client {

// The stub of the server at an address, which may be one that another server told of.
using StubAt = std::function<std::shared_ptr<Stub>(const std::string& address)>;

// Each call goes to the server that leads its job, as far as is known, else to one that
// was given; where a server names another, that one is asked at once (route.h).
// `stub_at` is called by any thread. `leaders` may be shared.
std::shared_ptr<Stub> MakeRoutedStub(std::shared_ptr<LeaderMap> leaders,
                                     StubAt stub_at);

// The same over a stub for each server, which is made by `make` when it is first used,
// those of the given servers at once.
std::shared_ptr<Stub> MakeRoutedStub(const std::vector<std::string>& given,
                                     StubAt make);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_ROUTED_STUB_H_
