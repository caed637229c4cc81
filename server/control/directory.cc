#include "server/control/directory.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/control/shown_job.h"
#include "server/control/store_failure.h"
#include "server/runtime/error_reason.h"
#include "server/runtime/status_detail.h"

namespace evenpack {
namespace {

absl::Status Closed() {
  return absl::UnavailableError("server: it is shutting down; connect to another");
}

}  // namespace

absl::Status LedElsewhere(const std::string& job, const std::string& address) {
  return WithDetail(absl::UnavailableError(absl::StrCat(
                        "job: '", job, "' is led by the server at ", address)),
                    {kLedElsewhere, {{"job", job}, {"address", address}}});
}

absl::Status NoLeader(const std::string& job) {
  return WithDetail(absl::UnavailableError(absl::StrCat(
                        "job: '", job, "' is led by no server just now; try again")),
                    {kNoLeader, {{"job", job}}});
}

Directory::Directory(SharedStore& store, CostProfileRegistry& profiles,
                     const Clock& clock)
    : store_(store), profiles_(profiles), clock_(clock), thread_([this] { Work(); }) {}

Directory::~Directory() {
  Close();
  thread_.join();
}

void Directory::Open(std::function<void(const std::string&)> led_here) {
  {
    MutexLock lock(mutex_);
    open_ = true;
    led_here_ = std::move(led_here);
  }
  changed_.SignalAll();
}

void Directory::Close() {
  Questions questions;
  Questions waiting;
  std::vector<Told> readers;
  std::deque<std::function<void()>> listings;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    questions.swap(questions_);
    waiting.swap(waiting_);
    readers.swap(readers_);
    listings.swap(listings_);
  }
  changed_.SignalAll();
  for (const Questions* left : {&questions, &waiting}) {
    for (const auto& [job, askers] : *left) {
      for (const Told& told : askers) told(NoLeader(job));
    }
  }
  for (const Told& told : readers) told(Closed());
  // They see that it is closed.
  for (const std::function<void()>& listing : listings) listing();
}

void Directory::WhereIs(const std::string& job, const Told& told) {
  absl::Status known;
  {
    MutexLock lock(mutex_);
    if (closed_) {
      known = NoLeader(job);
    } else if (held_.contains(job)) {
      waiting_[job].push_back(told);
      return;
    } else if (const std::string address = KnownAddress(job); !address.empty()) {
      known = LedElsewhere(job, address);
    } else {
      questions_[job].push_back(told);
    }
  }
  if (!known.ok()) return told(known);
  changed_.SignalAll();
}

void Directory::List(const std::string& after, size_t most, const Listed& listed) {
  bool closed = false;
  {
    MutexLock lock(mutex_);
    closed = closed_;
    if (!closed) {
      listings_.emplace_back([this, after, most, listed] {
        if (IsClosed()) return listed(Closed());
        const Places places = store_.Places(after, most);
        listed(places.ok() ? places
                           : StoreFailure("the jobs can't be listed", places.status()));
      });
    }
  }
  if (closed) return listed(Closed());
  changed_.SignalAll();
}

void Directory::ReadProfiles(const Told& told) {
  bool closed = false;
  {
    MutexLock lock(mutex_);
    closed = closed_;
    if (!closed) readers_.push_back(told);
  }
  if (closed) return told(Closed());
  changed_.SignalAll();
}

bool Directory::IsClosed() {
  MutexLock lock(mutex_);
  return closed_;
}

void Directory::Forget(const std::string& job) {
  MutexLock lock(mutex_);
  ++moves_;
  known_.erase(job);
  if (const auto held = held_.find(job); held != held_.end()) held->second = true;
}

void Directory::Hold(const std::string& job) {
  MutexLock lock(mutex_);
  held_.insert_or_assign(job, false);
}

void Directory::Release(const std::string& job, const std::string& address) {
  absl::Status where = NoLeader(job);
  std::vector<Told> askers;
  {
    MutexLock lock(mutex_);
    ++moves_;
    auto waiting = waiting_.extract(job);
    if (!waiting.empty()) askers = std::move(waiting.mapped());
    const auto held = held_.extract(job);
    const bool forgotten = !held.empty() && held.mapped();
    if (!address.empty() && !forgotten) {
      Remember(job, address);
      where = LedElsewhere(job, address);
    }
  }
  for (const Told& told : askers) told(where);
}

void Directory::Work() {
  while (true) {
    Questions questions;
    std::vector<Told> readers;
    std::deque<std::function<void()>> listings;
    if (!TakeWork(questions, readers, listings)) return;
    for (const auto& [job, askers] : questions) Answer(job, askers);
    if (!readers.empty()) {
      const absl::Status read = profiles_.Recover();
      const absl::Status told_of =
          read.ok() ? read : StoreFailure("the profiles can't be read", read);
      for (const Told& told : readers) told(told_of);
    }
    for (const std::function<void()>& listing : listings) listing();
  }
}

bool Directory::TakeWork(Questions& questions, std::vector<Told>& readers,
                         std::deque<std::function<void()>>& listings) {
  MutexLock lock(mutex_);
  while (!closed_ &&
         (!open_ || (questions_.empty() && readers_.empty() && listings_.empty()))) {
    changed_.Wait(mutex_);
  }
  questions.swap(questions_);
  readers.swap(readers_);
  listings.swap(listings_);
  return !closed_;
}

void Directory::Answer(const std::string& job, const std::vector<Told>& askers) {
  const absl::Status status = Locate(job);
  if (DetailOf(status).reason == kNoLeader) leaderless_ += askers.size();
  for (const Told& told : askers) told(status);
}

absl::Status Directory::Locate(const std::string& job) {
  uint64_t moves = 0;
  {
    MutexLock lock(mutex_);
    moves = moves_;
  }
  const absl::StatusOr<JobPlace> place = store_.Locate(job);
  if (absl::IsNotFound(place.status())) return JobNotFound(job);
  if (!place.ok()) {
    return StoreFailure("who leads the job can't be learned", place.status());
  }
  if (!place->here && place->address.empty()) return NoLeader(job);
  std::function<void(const std::string&)> led_here;
  {
    MutexLock lock(mutex_);
    if (!place->here) {
      if (moves == moves_) Remember(job, place->address);
      return LedElsewhere(job, place->address);
    }
    led_here = led_here_;
  }
  if (led_here != nullptr) led_here(job);
  return NoLeader(job);
}

std::string Directory::KnownAddress(const std::string& job) {
  const auto found = known_.find(job);
  if (found == known_.end()) return "";
  if (clock_.Now() - found->second.at <= kMostAge) return found->second.address;
  known_.erase(found);
  return "";
}

void Directory::Remember(const std::string& job, const std::string& address) {
  const Clock::TimePoint now = clock_.Now();
  // They are few: those that were asked for within that time.
  std::erase_if(known_,
                [now](const auto& known) { return now - known.second.at > kMostAge; });
  known_.insert_or_assign(job, Known{address, now});
}

}  // namespace evenpack
