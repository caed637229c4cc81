#include "tests/bench/service/subscribers.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>

#include "evenpack/v1/packing_service.pb.h"
#include "server/runtime/mutex.h"

namespace evenpack::bench {
namespace {

using Bytes = grpc::ByteBuffer;
using Stub = grpc::TemplatedGenericStub<Bytes, Bytes>;

constexpr uint32_t kCredits = 64;
// An eighth of the credits comes back at once, as a window's update does.
constexpr uint64_t kStepsAReceipt = kCredits / 8;

Bytes Encode(const v1::StreamStepsRequest& request) {
  Bytes bytes;
  bool own = false;
  grpc::SerializationTraits<v1::StreamStepsRequest>::Serialize(request, &bytes, &own);
  return bytes;
}

bool Decode(Bytes& bytes, v1::StreamStepsResponse& response) {
  return grpc::SerializationTraits<v1::StreamStepsResponse>::Deserialize(&bytes,
                                                                         &response)
      .ok();
}

// Of a StreamStepsResponse, by the tag of its one field.
enum class Kind { kSubscribed, kMarked, kStep };

Kind KindOf(const Bytes& message) {
  std::vector<grpc::Slice> slices;
  message.Dump(&slices);
  switch (slices.empty() ? 0 : *slices.front().begin()) {
    case 0x0a:
      return Kind::kSubscribed;
    case 0x1a:
      return Kind::kMarked;
    default:
      return Kind::kStep;
  }
}

}  // namespace

struct Subscribers::Shared {
  explicit Shared(size_t subscribers) : count(subscribers) {}

  // Subscribers in all.
  const size_t count;
  Mutex mutex;
  CondVar changed;
  size_t subscribed EVENPACK_GUARDED_BY(mutex) = 0;
  // How many subscribers have got at least so many steps, by that number.
  std::vector<size_t> reached EVENPACK_GUARDED_BY(mutex);
  size_t ended EVENPACK_GUARDED_BY(mutex) = 0;
  uint64_t bytes EVENPACK_GUARDED_BY(mutex) = 0;
};

class Subscribers::Call final : public grpc::ClientBidiReactor<Bytes, Bytes> {
 public:
  Call(const Options& options, size_t index, std::shared_ptr<Stub> stub, Shared& shared)
      : shared_(shared),
        acknowledge_(options.acknowledge),
        decode_(options.decode),
        stub_(std::move(stub)) {
    stub_->PrepareBidiStreamingCall(
        &context_, "/evenpack.v1.PackingService/StreamSteps", {}, this);
    v1::StreamStepsRequest request;
    v1::Subscribe& subscribe = *request.mutable_subscribe();
    subscribe.set_job(options.job);
    const auto number = static_cast<uint32_t>(index);
    subscribe.set_dp_rank(number / options.context_parallel % options.data_parallel);
    subscribe.set_cp_rank(number % options.context_parallel);
    subscribe.set_subscriber(std::to_string(index));
    subscribe.set_credits(acknowledge_ ? kCredits : 1U << 30);
    sends_durable_ = acknowledge_ &&
                     index < options.data_parallel * options.context_parallel &&
                     number % options.context_parallel == 0;
    subscribe.set_sends_durable(sends_durable_);
    message_ = Encode(request);
    StartWrite(&message_);
    StartRead(&response_);
    StartCall();
  }

  void Cancel() { context_.TryCancel(); }

  void OnReadDone(bool ok) override {
    const TimePoint now = std::chrono::steady_clock::now();
    if (!ok) return;
    const Kind kind = KindOf(response_);
    if (kind == Kind::kStep) {
      CountStep(now);
    } else if (kind == Kind::kSubscribed) {
      if (!Decode(response_, decoded_)) std::abort();
      first_ = decoded_.subscribed().from_step();
      MutexLock lock(shared_.mutex);
      ++shared_.subscribed;
      shared_.changed.SignalAll();
    }
    StartRead(&response_);
  }

  void OnWriteDone(bool ok) override {
    {
      MutexLock lock(mutex_);
      writing_ = ok && !waiting_.empty();
      if (!writing_) return;
      message_ = waiting_.front();
      waiting_.pop_front();
    }
    StartWrite(&message_);
  }

  void OnDone(const grpc::Status& status) override {
    // Nobody would get what is waited for.
    if (!status.ok() && status.error_code() != grpc::StatusCode::CANCELLED) {
      std::fprintf(stderr, "a subscriber: %s\n", status.error_message().c_str());
      std::_Exit(1);
    }
    MutexLock lock(shared_.mutex);
    ++shared_.ended;
    shared_.changed.SignalAll();
  }

  TimePoint Arrival(size_t step) {
    MutexLock lock(mutex_);
    return arrivals_[step];
  }

 private:
  void CountStep(TimePoint now) {
    size_t got = 0;
    {
      MutexLock lock(mutex_);
      arrivals_.push_back(now);
      got = arrivals_.size();
    }
    const uint64_t size = response_.Length();
    if (decode_ && !Decode(response_, decoded_)) std::abort();
    bool all = false;
    {
      MutexLock lock(shared_.mutex);
      if (shared_.reached.size() < got + 1) shared_.reached.resize(got + 1);
      all = ++shared_.reached[got] == shared_.count;
      shared_.bytes += size;
    }
    // Not at each arrival: the thread that waits would take a core from those measured.
    if (all) shared_.changed.SignalAll();
    if (acknowledge_) Acknowledge(first_ + got - 1);
  }

  void Acknowledge(uint64_t step) {
    if (step % kStepsAReceipt != kStepsAReceipt - 1) return;
    v1::StreamStepsRequest request;
    if (sends_durable_ && step % 16 == 15) {
      // Somewhat back, so that the benchmark can still look at the step.
      request.mutable_durable()->set_step(step - 8);
    } else {
      request.mutable_received()->set_step(step);
    }
    {
      MutexLock lock(mutex_);
      if (writing_) return waiting_.push_back(Encode(request));
      writing_ = true;
      message_ = Encode(request);
    }
    StartWrite(&message_);
  }

  Shared& shared_;
  const bool acknowledge_;
  const bool decode_;
  bool sends_durable_ = false;
  grpc::ClientContext context_;
  const std::shared_ptr<Stub> stub_;
  Bytes response_;
  v1::StreamStepsResponse decoded_;
  // Where the subscription began.
  uint64_t first_ = 0;
  Bytes message_;
  Mutex mutex_;
  std::deque<Bytes> waiting_ EVENPACK_GUARDED_BY(mutex_);
  bool writing_ EVENPACK_GUARDED_BY(mutex_) = true;
  std::vector<TimePoint> arrivals_ EVENPACK_GUARDED_BY(mutex_);
};

Subscribers::Subscribers(const Options& options)
    : shared_(std::make_unique<Shared>(options.count)) {
  std::vector<std::shared_ptr<Stub>> stubs;
  for (size_t i = 0; i < std::min(options.count, options.connections); ++i) {
    grpc::ChannelArguments arguments;
    // A connection of its own for each channel.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stubs.push_back(std::make_shared<Stub>(grpc::CreateCustomChannel(
        options.address,
        options.credentials == nullptr ? grpc::InsecureChannelCredentials()
                                       : options.credentials,
        arguments)));
  }
  for (size_t i = 0; i < options.count; ++i) {
    calls_.push_back(
        std::make_unique<Call>(options, i, stubs[i % stubs.size()], *shared_));
  }
}

Subscribers::~Subscribers() {
  for (const auto& call : calls_) call->Cancel();
  MutexLock lock(shared_->mutex);
  while (shared_->ended < calls_.size()) shared_->changed.Wait(shared_->mutex);
}

void Subscribers::WaitUntilSubscribed() const {
  MutexLock lock(shared_->mutex);
  while (shared_->subscribed < calls_.size()) shared_->changed.Wait(shared_->mutex);
}

void Subscribers::WaitFor(size_t steps) const {
  MutexLock lock(shared_->mutex);
  while (shared_->reached.size() <= steps || shared_->reached[steps] < calls_.size()) {
    shared_->changed.Wait(shared_->mutex);
  }
}

TimePoint Subscribers::Arrival(size_t subscriber, size_t step) const {
  return calls_[subscriber]->Arrival(step);
}

size_t Subscribers::count() const { return calls_.size(); }

uint64_t Subscribers::bytes() const {
  MutexLock lock(shared_->mutex);
  return shared_->bytes;
}

}  // namespace evenpack::bench
