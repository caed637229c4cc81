// The client as Python holds it.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_HELD_CLIENT_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_HELD_CLIENT_H_

#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "client/cpp/client.h"
#include "client/cpp/client_options.h"
#include "client/cpp/retrying_connection.h"
#include "client/cpp/shared_random.h"
#include "client/cpp/stub.h"
#include "client/python/bindings/interruptible_call.h"

namespace evenpack::python {

// Thread-safe. Its calls end with Ctrl-C, each by itself.
class HeldClient {
 public:
  HeldClient(std::shared_ptr<client::Stub> stub, client::ClientOptions options)
      : stub_(std::move(stub)), options_(std::move(options)) {
    options_.random = client::SharedRandom(std::move(options_.random));
  }

  // What call(client) returns, on a thread of its own and as Interruptibly has it: what
  // is dropped then is so under the interpreter's lock.
  template <typename Call>
  auto Do(const Call& call) const {
    std::stop_source stop;
    std::optional<std::invoke_result_t<const Call&, client::Client&>> result;
    Interruptibly(
        [&] {
          client::Client client(
              client::MakeRetryingConnection(stub_, options_, stop.get_token()));
          result.emplace(call(client));
        },
        [&stop] { stop.request_stop(); });
    return *std::move(result);
  }

 private:
  std::shared_ptr<client::Stub> stub_;
  client::ClientOptions options_;
};

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_HELD_CLIENT_H_
