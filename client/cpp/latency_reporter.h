// Sends what a trainer measured to the server, every now and then.
#ifndef EVENPACK_CLIENT_CPP_LATENCY_REPORTER_H_
#define EVENPACK_CLIENT_CPP_LATENCY_REPORTER_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "client/cpp/client_options.h"
#include "client/cpp/consumer.h"
#include "client/cpp/stub.h"
#include "server/runtime/mutex.h"

namespace evenpack::client {

// Thread-safe. A thread of its own, begun with the first figure, sends at most one
// report an interval, or one when it is to hurry, so that nobody waits for one. Where
// the system refuses that thread, a later figure begins it. What was in a report goes
// with the next where the server wasn't there, and is dropped where it was too slow to
// answer, since it may have counted it. Of a report that the server refused the waits
// are sent again. Only a connection that breaks while the answer of a server that lives
// on is on its way, as behind a proxy, can make a report count twice.
class LatencyReporter {
 public:
  // options.report_interval 0: does nothing.
  LatencyReporter(std::shared_ptr<Stub> stub, ClientOptions client_options,
                  ConsumerOptions options);
  // Cancels a report under way.
  ~LatencyReporter();
  LatencyReporter(const LatencyReporter&) = delete;
  LatencyReporter& operator=(const LatencyReporter&) = delete;

  // A step was taken, after the trainer had waited for it so long.
  void AddStep(double waited_seconds);
  // Beyond 65,536 that wait the oldest are dropped.
  void AddLatency(const MeasuredLatency& latency);
  // Latencies that wait are sent now, though the interval isn't over. Returns at once:
  // true where some wait or are under way; `then` is called, by the reporter's thread
  // or in Finish(), once each was answered, has failed or had the time of a call,
  // unless the reporter is destroyed before. Else false, and `then` is not called.
  bool Hurry(std::function<void()> then);

  // Awaits a report under way, which has the time of a call, then sends what is left in
  // one attempt; `stop` cancels both. Nothing is sent later.
  void Finish(const std::stop_token& stop);

 private:
  struct Figures {
    double wait_seconds = 0;
    uint64_t steps = 0;
    std::deque<MeasuredLatency> latencies;

    bool empty() const { return steps == 0 && latencies.empty(); }
  };

  void Run(const std::stop_token& stop);
  // Until the interval is over or there is a hurry; false: the reporter ends.
  bool AwaitInterval();
  // Tells the thread to begin no further report.
  std::jthread TakeThread();
  // Begins the thread, or tells it that there is something.
  void Notify() EVENPACK_REQUIRES(mutex_);
  void Send(const std::stop_token& stop);
  void SendOrPutBack(Figures figures, const std::stop_token& stop);
  absl::Status SendFigures(const Figures& figures, const std::stop_token& stop);
  void PutBack(Figures figures) EVENPACK_REQUIRES(mutex_);

  const std::shared_ptr<Stub> stub_;
  const ClientOptions client_options_;
  const ConsumerOptions options_;

  Mutex mutex_;
  CondVar changed_;
  Figures pending_ EVENPACK_GUARDED_BY(mutex_);
  bool stopping_ EVENPACK_GUARDED_BY(mutex_) = false;
  // A report with latencies is under way.
  bool sends_latencies_ EVENPACK_GUARDED_BY(mutex_) = false;
  // What is to be called behind the next report; where there is any, that is to hurry.
  std::vector<std::function<void()>> thens_ EVENPACK_GUARDED_BY(mutex_);
  // Ends the sleep of the interval.
  std::stop_source awake_ EVENPACK_GUARDED_BY(mutex_);
  std::jthread thread_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_LATENCY_REPORTER_H_
