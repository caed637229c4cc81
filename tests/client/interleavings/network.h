// A network between clients and servers of one process, which a test moves.
#ifndef EVENPACK_TESTS_CLIENT_INTERLEAVINGS_NETWORK_H_
#define EVENPACK_TESTS_CLIENT_INTERLEAVINGS_NETWORK_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "client/cpp/client_options.h"
#include "client/cpp/sleeper.h"
#include "client/cpp/stub.h"
#include "server/runtime/clock.h"
#include "server/runtime/mutex.h"
#include "tests/client/interleavings/journal.h"
#include "tests/testing/stepped_call.h"

namespace evenpack::testing {

enum class CallKind : uint8_t { kIngest, kSteps };

// Its calls are opened by any thread, and moved by the test's.
class Network {
 public:
  // Starts the handler of a call.
  using Server = std::function<SteppedCall::Reactor*(CallKind kind,
                                                     const grpc::ServerContextBase&)>;

  // Both outlive it.
  Network(Dice& dice, Journal& journal) : dice_(dice), journal_(journal) {}

  // From here on there is a server at this address.
  void Serve(size_t address, Server server) { servers_[address] = std::move(server); }
  // There is none any more: calls to it are cut, and end there before this returns.
  // Fails the test where one doesn't.
  void EndServing(size_t address);

  std::shared_ptr<SteppedCall> Open(size_t address, CallKind kind,
                                    const std::string& whose, RestingMark& mark);

  // Something that is due with one of the calls, or the end of one.
  void StepOne();
  void CutOne();
  // All that is due; false: nothing was.
  bool StepAll();
  // Whether each call is over at both ends.
  bool IsEmpty() { return calls().empty(); }

 private:
  struct Call {
    size_t address = 0;
    CallKind kind = CallKind::kIngest;
    std::string whose;
    std::shared_ptr<SteppedCall> call;
  };
  using Calls = std::deque<Call>;
  static constexpr uint32_t kSteps = 6;

  // Those that are not over.
  Calls calls();
  bool Accept(const Call& call, const Calls& calls);
  bool Step(const Call& call, const Calls& calls, uint32_t step);

  Dice& dice_;
  Journal& journal_;
  // Of the test's thread.
  std::map<size_t, Server> servers_;
  Mutex mutex_;
  Calls calls_ EVENPACK_GUARDED_BY(mutex_);
};

// Sleeps until the test wakes all that do. Thread-safe.
class SteppedSleeper final : public client::Sleeper {
 public:
  explicit SteppedSleeper(RestingMark& mark) : mark_(mark) {}
  bool Sleep(std::chrono::nanoseconds duration, const std::stop_token& stop) override;
  // False: nobody sleeps.
  bool Wake();

 private:
  RestingMark& mark_;
  Mutex mutex_;
  CondVar changed_;
  int sleepers_ EVENPACK_GUARDED_BY(mutex_) = 0;
  uint64_t wakes_ EVENPACK_GUARDED_BY(mutex_) = 0;
};

// What a client's session has of its process.
class ClientProcess {
 public:
  // `addresses`: of the servers that it knows.
  ClientProcess(Network& network, std::string name, const Clock& clock,
                const std::vector<std::string>& addresses);

  const std::string& name() const { return name_; }
  const std::shared_ptr<client::Stub>& stub() const { return stub_; }
  const client::ClientOptions& options() const { return options_; }
  SteppedSleeper& sleeper() { return *sleeper_; }

  // Returns once its thread waits for the network or for time to pass, or soon after,
  // where it waits for something else.
  void Rest();

 private:
  const std::string name_;
  RestingMark mark_;
  const std::shared_ptr<SteppedSleeper> sleeper_ =
      std::make_shared<SteppedSleeper>(mark_);
  client::ClientOptions options_;
  std::shared_ptr<client::Stub> stub_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_CLIENT_INTERLEAVINGS_NETWORK_H_
