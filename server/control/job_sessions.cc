// The half of Job that subscribers and observers use.
#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/control/job.h"
#include "server/control/store_failure.h"
#include "server/core/document/invalid_field.h"
#include "server/core/engine/admission_rule.h"
#include "server/core/engine/checkpoint.h"
#include "server/core/engine/state_codec.h"
#include "server/core/engine/waiting.h"
#include "server/runtime/error_reason.h"
#include "server/runtime/status_detail.h"

namespace evenpack {
namespace {

QueueFigures FiguresOf(const DocumentFifo& queue, uint64_t batches_admitted) {
  QueueFigures figures;
  figures.documents = queue.size();
  figures.tokens = queue.tokens();
  if (!queue.empty()) {
    figures.oldest_batches = batches_admitted - 1 - queue.front().batch;
  }
  return figures;
}

CalibrationFigures FiguresOf(const CalibrationStatus& status) {
  const auto of = [](const CostScales& scales) {
    constexpr double kOne = CostScales::kOne;
    return ScaleFigures{static_cast<double>(scales.attention_ppm) / kOne,
                        static_cast<double>(scales.linear_ppm) / kOne};
  };
  CalibrationFigures figures;
  figures.applied = of(status.applied);
  figures.suggested = of(status.suggested);
  if (status.measured.has_value()) figures.measured = of(*status.measured);
  figures.observations = status.observations;
  figures.separable = status.separable;
  figures.calibrations = status.calibrations;
  return figures;
}

}  // namespace

JobStatus Job::StatusNow() const {
  JobStatus status;
  status.name = name_;
  status.spec = spec_;
  status.epoch = state_.epoch;
  status.next_step = state_.position.next_step;
  status.durable_steps = DurableSteps(state_);
  status.oldest_step = std::min(state_.checkpoints.front(), status.next_step);
  status.digest = state_.position.digest;
  for (size_t i = 0; i < state_.streams.size(); ++i) {
    const StreamState& stream = state_.streams[i];
    status.streams.push_back({state_.spec.streams[i].name, stream.next_sequence,
                              stream.ended, stream.buffer.size(),
                              stream.buffer.tokens(), stream.skipped});
  }
  ForEachWaiting(state_.waiting, [&status](const Document& document) {
    ++status.waiting_documents;
    status.waiting_tokens += document.length;
  });
  status.drained = IsDrained(state_);
  status.subscribers = shown_.subscribers();
  status.durable_steps_per_rank = state_.durable;
  return status;
}

void Job::EnqueueLook(Done done) {
  CommitEntry entry = NewEntry();
  entry.done = [self = shared_from_this(),
                done = std::move(done)](const absl::Status& committed) {
    // First: by the time that this server is sure to lead, lost jobs are abandoned.
    const absl::Status lead = self->CheckLead();
    const absl::Status outcome = self->Outcome(committed);
    done(outcome.ok() ? lead : outcome);
  };
  environment_.committer.Enqueue(std::move(entry));
}

void Job::Checkpoint(uint64_t step, const DoneWith<JobCheckpoint>& done) {
  ReadBack();
  absl::Status status;
  {
    MutexLock lock(mutex_);
    status = CheckShown();
    absl::StatusOr<JobState> state;
    if (status.ok()) {
      state = CheckpointAfter(state_, step);
      status = state.status();
    }
    if (status.ok()) {
      // Encoded under no lock.
      auto held = std::make_shared<const JobState>(*std::move(state));
      EnqueueLook([&pool = environment_.pool, held, done](const absl::Status& stands) {
        if (!stands.ok()) return done(stands);
        pool.Run([held, done] {
          done(JobCheckpoint{EncodeState(*held), held->position.digest});
        });
      });
    }
  }
  if (!status.ok()) return done(status);
  Flush();
}

void Job::Describe(const DoneWith<JobStatus>& done) {
  absl::Status status;
  {
    MutexLock lock(mutex_);
    status = CheckShown();
    if (stale_) wanted_ = true;
    if (status.ok()) {
      EnqueueLook([now = StatusNow(), done](const absl::Status& stands) {
        done(stands.ok() ? absl::StatusOr<JobStatus>(now) : stands);
      });
    }
  }
  if (!status.ok()) return done(status);
  Flush();
}

void Job::OpenStream(const std::string& stream, const DoneWith<StreamPosition>& done) {
  ReadBack();
  absl::Status status;
  {
    MutexLock lock(mutex_);
    status = CheckShown();
    if (status.ok()) status = CheckReach();
    const auto& streams = state_.spec.streams;
    const auto found =
        std::find_if(streams.begin(), streams.end(),
                     [&stream](const StreamSpec& spec) { return spec.name == stream; });
    if (status.ok() && found == streams.end()) {
      status = WithDetail(
          absl::NotFoundError(absl::StrCat(
              "stream: '", stream, "' is not one of the job's; accepted: '",
              streams.front().name, "'", streams.size() > 1 ? " and others" : "")),
          {kStreamNotFound, {{"stream", stream}}});
    }
    if (status.ok()) {
      const auto index = static_cast<size_t>(found - streams.begin());
      const StreamPosition position = {index, state_.streams[index].next_sequence,
                                       state_.streams[index].ended};
      EnqueueBarrier([position, done](const absl::Status& committed) {
        done(committed.ok() ? absl::StatusOr<StreamPosition>(position) : committed);
      });
    }
  }
  if (!status.ok()) return done(status);
  Flush();
}

bool Job::IsFull(size_t stream) {
  return CheckShown().ok() && BufferIsFull(state_, stream);
}

std::optional<uint64_t> Job::WaitForRoom(size_t stream,
                                         RoomWaiters::Callback callback) {
  MutexLock lock(mutex_);
  if (!IsFull(stream)) return std::nullopt;
  return room_waiters_.Add(stream, std::move(callback));
}

void Job::StopWaiting(uint64_t number) {
  MutexLock lock(mutex_);
  room_waiters_.Remove(number);
}

uint64_t Job::AddProducer(Done end) {
  MutexLock lock(mutex_);
  producers_.emplace(next_producer_, std::move(end));
  return next_producer_++;
}

void Job::RemoveProducer(uint64_t number) {
  Done forgotten;  // freed under no lock
  MutexLock lock(mutex_);
  const auto found = producers_.find(number);
  if (found == producers_.end()) return;
  forgotten = std::move(found->second);
  producers_.erase(found);
}

void Job::EndProducers(const absl::Status& status) {
  std::vector<Done> ended;
  {
    MutexLock lock(mutex_);
    for (const auto& [number, end] : producers_) ended.push_back(end);
  }
  for (const Done& end : ended) end(status);
}

void Job::Wake(std::vector<std::shared_ptr<Subscriber>> subscribers) {
  // Few are not worth another thread.
  constexpr size_t kFew = 4;
  if (subscribers.size() <= kFew) {
    for (const std::shared_ptr<Subscriber>& subscriber : subscribers) {
      subscriber->Wake();
    }
    return;
  }
  // In portions, so that several threads share a wide fan-out.
  constexpr size_t kPortion = 64;
  for (size_t begin = 0; begin < subscribers.size(); begin += kPortion) {
    const size_t end = std::min(begin + kPortion, subscribers.size());
    std::vector<std::shared_ptr<Subscriber>> portion(
        std::make_move_iterator(subscribers.begin() +
                                static_cast<std::ptrdiff_t>(begin)),
        std::make_move_iterator(subscribers.begin() +
                                static_cast<std::ptrdiff_t>(end)));
    environment_.pool.Run([portion = std::move(portion)] {
      for (const std::shared_ptr<Subscriber>& subscriber : portion) subscriber->Wake();
    });
  }
}

absl::StatusOr<Subscribed> Job::Subscribe(const SubscribeRequest& request,
                                          std::shared_ptr<Subscriber> subscriber) {
  ReadBack();
  absl::Status unread;
  {
    MutexLock lock(mutex_);
    if (absl::Status status = CheckCommitted(unread); !status.ok()) return status;
  }
  ShownJob::Subscribers woken;
  absl::StatusOr<Subscribed> subscribed = shown_.Subscribe(
      request, std::move(subscriber), unread, environment_.clock.Now(), woken);
  Wake(std::move(woken));
  // Who came while the server was cut off is told as those who were there.
  if (subscribed.ok() && unread.ok()) EndThoseThatWait();
  return subscribed;
}

NextMessage Job::Next(Subscription& subscription) { return shown_.Next(subscription); }

absl::Status Job::Received(Subscription& subscription, uint64_t step) {
  const auto woken = shown_.Received(subscription, step, environment_.clock.Now());
  if (woken.ok() && *woken != nullptr) (*woken)->Wake();
  return woken.status();
}

void Job::MarkDurable(const std::shared_ptr<Subscription>& subscription, uint64_t step,
                      uint64_t epoch, const Done& done) {
  // Constant since the subscription was made.
  const SubscribeRequest& request = subscription->request;
  if (!request.sends_durable) {
    return done(WithDetail(
        absl::FailedPreconditionError(
            "durable: this subscription does not send durable marks; accepted on one "
            "with sends_durable"),
        {kDurableNotClaimed, {}}));
  }
  // Another has its claim, perhaps, and it was not told yet.
  if (const auto end = shown_.EndOf(*subscription); end.has_value()) return done(*end);
  const Done committed = [self = shared_from_this(), subscription,
                          done](const absl::Status& status) {
    if (status.ok()) {
      const auto woken = self->shown_.TellMarked(*subscription);
      if (woken != nullptr) woken->Wake();
    }
    done(status);
  };
  const absl::Status status =
      Enqueue(Acknowledge{request.dp_rank, step, epoch}, committed, nullptr);
  if (!status.ok()) return RefuseMark(subscription, status, done);
  // No rank waits for the answer.
  FlushSoon();
}

void Job::RefuseMark(const std::shared_ptr<Subscription>& subscription,
                     const absl::Status& refusal, const Done& done) {
  // Nothing of the job can be committed then.
  if (IsStoreFailure(refusal)) return done(refusal);
  {
    MutexLock lock(mutex_);
    EnqueueBarrier([self = shared_from_this(), subscription, refusal,
                    done](const absl::Status& committed) {
      done(committed.ok() ? self->shown_.EndOf(*subscription).value_or(refusal)
                          : committed);
    });
  }
  Flush();
}

void Job::Unsubscribe(Subscription& subscription) { shown_.Unsubscribe(subscription); }

absl::Status Job::CheckSeat(const GroupSeat& seat) {
  ReadBack();
  absl::Status unread;
  MutexLock lock(mutex_);
  if (absl::Status status = CheckCommitted(unread); !status.ok()) return status;
  absl::Status status = shown_.CheckSeat(seat);
  if (status.ok()) latency_.ExpectReports();
  return unread.ok() || status.ok() ? status : unread;
}

void Job::CountDelivery(Clock::TimePoint ready) {
  recorder_.CountDelivery(SecondsBetween(ready, environment_.clock.Now()));
}

absl::StatusOr<std::shared_ptr<const PublishedStep>> Job::FindStep(uint64_t index) {
  absl::Status unread;
  MutexLock lock(mutex_);
  if (absl::Status status = CheckCommitted(unread); !status.ok()) return status;
  auto step = shown_.FindStep(index);
  if (!unread.ok() && !step.ok()) return unread;
  return step;
}

absl::StatusOr<uint64_t> Job::DurableStepsOf(uint32_t dp_rank) {
  ReadBack();
  MutexLock lock(mutex_);
  if (absl::Status status = CheckShown(); !status.ok()) return status;
  return shown_.DurableStepsOf(dp_rank);
}

JobFigures Job::Figures() {
  JobFigures figures = recorder_.Figures();
  latency_.AddTo(shown_.spec().get(), figures);
  if (const auto calibration = Calibration(); calibration.ok()) {
    figures.calibration = FiguresOf(*calibration);
  }
  MutexLock lock(mutex_);
  figures.broken = IsBroken();
  if (!state_.created) return figures;
  figures.streams.resize(state_.streams.size());
  for (size_t i = 0; i < state_.streams.size(); ++i) {
    const DocumentFifo& buffer = state_.streams[i].buffer;
    StreamFigures& stream = figures.streams[i];
    stream.name = state_.spec.streams[i].name;
    stream.buffered_documents = buffer.size();
    stream.buffered_tokens = buffer.tokens();
    stream.buffered_bytes = buffer.size() * kBufferedDocumentBytes;
    stream.full = BufferIsFull(state_, i);
    stream.ended = state_.streams[i].ended;
  }
  for (const DocumentFifo& queue : state_.waiting.queues) {
    figures.queues.push_back(FiguresOf(queue, state_.position.batches_admitted));
  }
  figures.left_over_documents = state_.waiting.left_over.size();
  for (const Document& document : state_.waiting.left_over) {
    figures.left_over_tokens += document.length;
    figures.left_over_oldest_batches =
        std::max(figures.left_over_oldest_batches,
                 state_.position.batches_admitted - 1 - document.batch);
  }
  figures.epoch = state_.epoch;
  figures.durable_steps = DurableSteps(state_);
  figures.payload_bytes = tokens_.bytes();
  shown_.AddTo(figures);
  figures.producers = producers_.size();
  const GroupFigures groups = groups_.Figures();
  figures.group_members = groups.members;
  figures.groups = groups.groups;
  figures.groups_standing = groups.standing;
  return figures;
}

void Job::Observe(const ObservationRange& range, const DoneWith<JobObservation>& done) {
  Describe([self = shared_from_this(), range,
            done](const absl::StatusOr<JobStatus>& status) {
    if (!status.ok()) return done(status.status());
    self->environment_.pool.Run([self, range, done, status = *status] {
      JobObservation observed;
      observed.status = status;
      observed.recorded = self->recorder_.Steps(range);
      StepHistory::Steps& steps = observed.recorded.steps;
      while (!steps.empty() && steps.back()->index >= status.next_step) {
        steps.pop_back();
      }
      observed.figures = self->Figures();
      observed.subscribers = self->shown_.SlowestSubscribers(kMaxObservedSubscribers);
      observed.now = self->environment_.clock.Now();
      done(std::move(observed));
    });
  });
}

}  // namespace evenpack
