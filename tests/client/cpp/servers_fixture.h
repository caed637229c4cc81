// What tests of a client of several servers begin with: a fake stub for each of them.
#ifndef EVENPACK_TESTS_CLIENT_CPP_SERVERS_FIXTURE_H_
#define EVENPACK_TESTS_CLIENT_CPP_SERVERS_FIXTURE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/cpp/routed_stub.h"
#include "server/runtime/mutex.h"
#include "tests/client/cpp/session_fixture.h"

namespace evenpack::testing {

inline constexpr auto kUnavailable = absl::StatusCode::kUnavailable;

// A call that nobody listens for, as gRPC says it.
inline const absl::Status kRefused = absl::UnavailableError(
    "failed to connect to all addresses; last error: Connection refused");

inline absl::Status LedAt(const std::string& address) {
  client::ErrorDetails details;
  details.reason = "LED_ELSEWHERE";
  details.domain = "evenpack";
  details.metadata = {{"job", "run"}, {"address", address}};
  return client::WithDetails(absl::UnavailableError("job 'run': led by " + address),
                             details);
}

inline absl::Status NobodyLeads() {
  client::ErrorDetails details;
  details.reason = "NO_LEADER";
  details.domain = "evenpack";
  details.metadata = {{"job", "run"}};
  details.retry_delay = std::chrono::milliseconds(200);
  return client::WithDetails(absl::UnavailableError("job 'run': has no leader"),
                             details);
}

class ServersFixture : public SessionFixture {
 protected:
  // The server of an address, which need not be one of those that the client is given.
  FakeStub& At(const std::string& address) { return *SharedAt(address); }

  std::shared_ptr<client::Stub> Routed(const std::vector<std::string>& given) {
    return client::MakeRoutedStub(
        given, [this](const std::string& address) { return SharedAt(address); });
  }

 private:
  // The test asks for a server, and so does a session, which may be sooner.
  std::shared_ptr<FakeStub> SharedAt(const std::string& address) {
    MutexLock lock(mutex_);
    auto& stub = servers_[address];
    if (stub == nullptr) stub = std::make_shared<::testing::NiceMock<FakeStub>>();
    return stub;
  }

  Mutex mutex_;
  std::map<std::string, std::shared_ptr<FakeStub>> servers_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_CLIENT_CPP_SERVERS_FIXTURE_H_
