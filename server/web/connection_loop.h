// One thread that serves all connections of the HTTP port without waiting for any.
//
// A client that says nothing, or sends or takes its bytes one by one, costs a place
// among the connections and no thread. Where all places are taken, the one that has
// been longest about it goes.
#ifndef EVENPACK_SERVER_WEB_CONNECTION_LOOP_H_
#define EVENPACK_SERVER_WEB_CONNECTION_LOOP_H_

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/runtime/clock.h"
#include "server/runtime/file_descriptor.h"
#include "server/runtime/mutex.h"
#include "server/web/http_connection.h"
#include "server/web/listener.h"

namespace evenpack {

struct ConnectionLoopOptions {
  size_t max_connections = 64;  // at least 1
  HttpConnectionLimits limits;
  // For clients to take their answers, once the loop is stopped.
  std::chrono::milliseconds stop_timeout{1000};
  const Clock* clock = &Clock::Steady();
};

class ConnectionLoop {
 public:
  // Called by Run with each request that is whole. It returns soon, and has Reply
  // called once for the request, from any thread.
  using RequestHandler = std::function<void(uint64_t connection, std::string request)>;

  // `wakeup`: an eventfd that doesn't block.
  ConnectionLoop(std::vector<Listener> listeners, FileDescriptor wakeup,
                 const ConnectionLoopOptions& options, RequestHandler on_request);

  // Serves until Stop, and then until the requests that were whole are answered.
  void Run();

  // Both thread-safe.
  void Reply(uint64_t connection, std::string answer);
  void Stop();

 private:
  void TakeMail();
  void HurryAll(Clock::TimePoint now);
  void Poll();
  int PollTimeout(Clock::TimePoint now) const;
  void Advance(uint64_t id, HttpConnection& connection, Clock::TimePoint now);
  void Sweep(Clock::TimePoint now);
  bool Accepting(Clock::TimePoint now) const;
  void Accept(Listener& listener, Clock::TimePoint now);
  void GiveUpOne();
  void Wake();

  // Run's own.
  std::vector<Listener> listeners_;  // none once stopped
  const FileDescriptor wakeup_;
  const ConnectionLoopOptions options_;
  const RequestHandler on_request_;
  std::map<uint64_t, HttpConnection> connections_;
  uint64_t next_id_ = 0;
  std::vector<pollfd> polled_;
  // The system had no descriptor left: none is asked for before.
  Clock::TimePoint accept_again_ = Clock::TimePoint::min();

  Mutex mutex_;
  std::vector<std::pair<uint64_t, std::string>> replies_ EVENPACK_GUARDED_BY(mutex_);
  bool stopped_ EVENPACK_GUARDED_BY(mutex_) = false;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_WEB_CONNECTION_LOOP_H_
