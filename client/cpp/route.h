// The servers that one attempt of a call goes through.
#ifndef EVENPACK_CLIENT_CPP_ROUTE_H_
#define EVENPACK_CLIENT_CPP_ROUTE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/cpp/leader_map.h"

namespace evenpack::client {

// Whether a server refused the call since another leads its job: LED_ELSEWHERE.
bool IsRedirect(const absl::Status& status);

//   Route route(leaders, job);
//   do {
//     status = Call(route.address());
//   } while (!status.ok() && route.Follow(status));
//   return route.Explained(status);
//
// A server is asked once, so that two that name each other end the attempt. What can't
// be asked at once is asked by the next attempt, after a back-off: a call may have been
// carried out where its connection broke. Not thread-safe.
class Route {
 public:
  // Redirects that are followed, beside the servers that were given.
  static constexpr size_t kMostRedirects = 4;

  // `leaders` must outlive the object.
  Route(LeaderMap& leaders, std::string job);

  const std::string& address() const { return asked_.back(); }
  // Notes what an error of the call at address() says of who leads what. True: the call
  // was not carried out and is due at once at what is address() from now on.
  bool Follow(const absl::Status& status);
  // The error of the last call as the attempt's: with the servers that were asked where
  // those were several; UNAVAILABLE in place of DEADLINE_EXCEEDED where there is
  // another to ask.
  absl::Status Explained(const absl::Status& status) const;

 private:
  bool MoveOn();

  LeaderMap& leaders_;
  const std::string job_;
  std::vector<std::string> asked_;
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_ROUTE_H_
