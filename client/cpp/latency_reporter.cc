#include "client/cpp/latency_reporter.h"

#include <system_error>
#include <utility>

#include "evenpack/v1/packing_service.pb.h"

namespace evenpack::client {
namespace {

constexpr size_t kMaxLatencies = 65'536;

// The server didn't count it: it wasn't there, or had no room.
bool MayBeSentAgain(const absl::Status& status) {
  return status.code() == absl::StatusCode::kUnavailable ||
         status.code() == absl::StatusCode::kResourceExhausted;
}

// A server that was slow may have counted it.
bool MayBeCounted(const absl::Status& status) {
  return status.code() == absl::StatusCode::kDeadlineExceeded ||
         status.code() == absl::StatusCode::kCancelled;
}

}  // namespace

LatencyReporter::LatencyReporter(std::shared_ptr<Stub> stub,
                                 ClientOptions client_options, ConsumerOptions options)
    : stub_(std::move(stub)),
      client_options_(std::move(client_options)),
      options_(std::move(options)) {}

LatencyReporter::~LatencyReporter() { TakeThread().request_stop(); }

std::jthread LatencyReporter::TakeThread() {
  std::jthread thread;
  std::stop_source awake;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.SignalAll();
    thread = std::move(thread_);
    awake = awake_;
  }
  awake.request_stop();
  return thread;
}

void LatencyReporter::AddStep(double waited_seconds) {
  MutexLock lock(mutex_);
  pending_.wait_seconds += waited_seconds;
  ++pending_.steps;
  Notify();
}

void LatencyReporter::AddLatency(const MeasuredLatency& latency) {
  MutexLock lock(mutex_);
  pending_.latencies.push_back(latency);
  if (pending_.latencies.size() > kMaxLatencies) pending_.latencies.pop_front();
  Notify();
}

bool LatencyReporter::Hurry(std::function<void()> then) {
  std::stop_source awake;
  {
    MutexLock lock(mutex_);
    if (!thread_.joinable()) return false;
    if (pending_.latencies.empty() && !sends_latencies_) return false;
    thens_.push_back(std::move(then));
    changed_.SignalAll();
    awake = awake_;
  }
  awake.request_stop();
  return true;
}

void LatencyReporter::Notify() {
  if (stopping_ || options_.report_interval.count() == 0) return;
  if (!thread_.joinable()) {
    try {
      thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
    } catch (const std::system_error&) {
      // A step that was taken must not be lost over its report: the next figure, or the
      // end, has another go.
      return;
    }
  }
  changed_.SignalAll();
}

void LatencyReporter::Run(const std::stop_token& stop) {
  for (;;) {
    {
      MutexLock lock(mutex_);
      while (pending_.empty() && thens_.empty() && !stopping_) changed_.Wait(mutex_);
      if (stopping_) return;
    }
    if (!AwaitInterval()) return;
    Send(stop);
  }
}

bool LatencyReporter::AwaitInterval() {
  std::stop_source awake;
  {
    MutexLock lock(mutex_);
    if (stopping_) return false;
    if (!thens_.empty()) return true;
    awake_ = awake;
  }
  client_options_.sleeper->Sleep(options_.report_interval, awake.get_token());
  MutexLock lock(mutex_);
  return !stopping_;
}

void LatencyReporter::Send(const std::stop_token& stop) {
  Figures figures;
  std::vector<std::function<void()>> thens;
  {
    MutexLock lock(mutex_);
    figures = std::exchange(pending_, {});
    thens = std::exchange(thens_, {});
    sends_latencies_ = !figures.latencies.empty();
  }
  if (!figures.empty()) SendOrPutBack(std::move(figures), stop);
  {
    MutexLock lock(mutex_);
    sends_latencies_ = false;
  }
  for (const std::function<void()>& then : thens) then();
}

void LatencyReporter::SendOrPutBack(Figures figures, const std::stop_token& stop) {
  const absl::Status status = SendFigures(figures, stop);
  if (status.ok() || MayBeCounted(status)) return;
  if (!MayBeSentAgain(status)) {
    // One latency that the server doesn't take must not cost the waits.
    if (figures.latencies.empty()) return;
    figures.latencies.clear();
  }
  MutexLock lock(mutex_);
  PutBack(std::move(figures));
}

absl::Status LatencyReporter::SendFigures(const Figures& figures,
                                          const std::stop_token& stop) {
  v1::ReportLatencyRequest request;
  request.set_job(options_.job);
  request.set_dp_rank(options_.dp_rank);
  if (options_.cp_rank.has_value()) request.set_cp_rank(*options_.cp_rank);
  request.set_step_wait_seconds(figures.wait_seconds);
  request.set_steps_taken(figures.steps);
  for (const MeasuredLatency& latency : figures.latencies) {
    v1::MicroBatchLatency* message = request.add_micro_batches();
    message->set_step(latency.step);
    message->set_micro_batch(latency.micro_batch);
    message->set_forward_ns(latency.forward_ns);
    message->set_backward_ns(latency.backward_ns);
    if (!latency.attention.has_value()) continue;
    v1::AttentionLatency& attention = *message->mutable_attention();
    attention.set_forward_passes(latency.attention->forward_passes);
    attention.set_backward_passes(latency.attention->backward_passes);
    attention.set_forward_ns(latency.attention->forward_ns);
    attention.set_backward_ns(latency.attention->backward_ns);
    attention.set_waited_ns(latency.attention->waited_ns);
  }
  return stub_->ReportLatency(request, {client_options_.call_timeout, stop}).status();
}

void LatencyReporter::PutBack(Figures figures) {
  pending_.wait_seconds += figures.wait_seconds;
  pending_.steps += figures.steps;
  while (!figures.latencies.empty() && pending_.latencies.size() < kMaxLatencies) {
    pending_.latencies.push_front(figures.latencies.back());
    figures.latencies.pop_back();
  }
}

void LatencyReporter::Finish(const std::stop_token& stop) {
  {
    std::jthread thread = TakeThread();
    const std::stop_callback on_stop(stop, [&thread] { thread.request_stop(); });
    if (thread.joinable()) thread.join();
  }
  if (options_.report_interval.count() != 0) Send(stop);
}

}  // namespace evenpack::client
