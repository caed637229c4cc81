#include "server/web/connection_loop.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

namespace evenpack {
namespace {

using State = HttpConnection::State;

constexpr std::chrono::milliseconds kAcceptPause(100);

}  // namespace

ConnectionLoop::ConnectionLoop(std::vector<Listener> listeners, FileDescriptor wakeup,
                               const ConnectionLoopOptions& options,
                               RequestHandler on_request)
    : listeners_(std::move(listeners)),
      wakeup_(std::move(wakeup)),
      options_(options),
      on_request_(std::move(on_request)) {}

void ConnectionLoop::Run() {
  for (;;) {
    TakeMail();
    if (listeners_.empty() && connections_.empty()) return;
    Poll();
  }
}

void ConnectionLoop::Reply(uint64_t connection, std::string answer) {
  MutexLock lock(mutex_);
  replies_.emplace_back(connection, std::move(answer));
  Wake();
}

void ConnectionLoop::Stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  Wake();
}

void ConnectionLoop::Wake() {
  const uint64_t one = 1;
  // It fails where it is full: then the loop wakes anyway.
  [[maybe_unused]] const ssize_t written = write(wakeup_.get(), &one, sizeof(one));
}

void ConnectionLoop::TakeMail() {
  std::vector<std::pair<uint64_t, std::string>> replies;
  bool stopped = false;
  {
    MutexLock lock(mutex_);
    replies.swap(replies_);
    stopped = stopped_;
  }
  const Clock::TimePoint now = options_.clock->Now();
  for (auto& [id, answer] : replies) {
    // It is there: a connection that waits for its answer is never given up.
    connections_.find(id)->second.Reply(std::move(answer), now);
  }
  if (stopped) HurryAll(now);
  Sweep(now);
}

void ConnectionLoop::HurryAll(Clock::TimePoint now) {
  listeners_.clear();
  for (auto& [id, connection] : connections_) {
    if (connection.state() == State::kReading) {
      connection.HurryUntil(now);
    } else if (connection.state() != State::kAnswering) {
      connection.HurryUntil(now + options_.stop_timeout);
    }
  }
}

void ConnectionLoop::Poll() {
  Clock::TimePoint now = options_.clock->Now();
  polled_.clear();
  polled_.push_back({wakeup_.get(), POLLIN, 0});
  // poll passes over a negative descriptor.
  const bool accepting = Accepting(now);
  for (const Listener& listener : listeners_) {
    polled_.push_back({accepting ? listener.fd() : -1, POLLIN, 0});
  }
  for (const auto& [id, connection] : connections_) {
    const int16_t events = connection.events();
    polled_.push_back({events == 0 ? -1 : connection.fd(), events, 0});
  }
  if (poll(polled_.data(), polled_.size(), PollTimeout(now)) <= 0) {
    Sweep(options_.clock->Now());
    return;
  }
  now = options_.clock->Now();
  if (polled_[0].revents != 0) {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t size = read(wakeup_.get(), &count, sizeof(count));
  }
  size_t i = 1 + listeners_.size();
  for (auto& [id, connection] : connections_) {
    if (polled_[i++].revents != 0) Advance(id, connection, now);
  }
  Sweep(now);
  for (size_t k = 0; k < listeners_.size(); ++k) {
    if (polled_[1 + k].revents != 0) Accept(listeners_[k], now);
  }
}

int ConnectionLoop::PollTimeout(Clock::TimePoint now) const {
  Clock::TimePoint wake = accept_again_ > now ? accept_again_ : Clock::TimePoint::max();
  for (const auto& [id, connection] : connections_) {
    wake = std::min(wake, connection.deadline());
  }
  if (wake == Clock::TimePoint::max()) return -1;
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(wake - now).count();
  return static_cast<int>(
      std::clamp<int64_t>(wait, 0, std::numeric_limits<int>::max()));
}

void ConnectionLoop::Advance(uint64_t id, HttpConnection& connection,
                             Clock::TimePoint now) {
  std::optional<std::string> request = connection.Advance(now);
  if (request.has_value()) on_request_(id, *std::move(request));
}

void ConnectionLoop::Sweep(Clock::TimePoint now) {
  std::erase_if(connections_, [now](const auto& entry) {
    return entry.second.state() == State::kClosed || entry.second.deadline() <= now;
  });
}

bool ConnectionLoop::Accepting(Clock::TimePoint now) const {
  if (listeners_.empty() || accept_again_ > now) return false;
  if (connections_.size() < options_.max_connections) return true;
  return std::any_of(connections_.begin(), connections_.end(), [](const auto& entry) {
    return entry.second.state() != State::kAnswering;
  });
}

void ConnectionLoop::Accept(Listener& listener, Clock::TimePoint now) {
  // Some at a time, so that a flood of new ones leaves the others their turn.
  for (int i = 0; i < 64 && Accepting(now); ++i) {
    FileDescriptor socket = listener.Accept();
    if (!socket.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      // No descriptors are left. The process has better uses for them than connections
      // that wait here.
      GiveUpOne();
      accept_again_ = now + kAcceptPause;
      return;
    }
    if (connections_.size() >= options_.max_connections) GiveUpOne();
    const uint64_t id = next_id_++;
    const auto [entry, added] =
        connections_.try_emplace(id, std::move(socket), options_.limits, now);
    Advance(id, entry->second, now);
  }
}

void ConnectionLoop::GiveUpOne() {
  // Those that take an answer go last: they were served.
  const auto rank = [](const HttpConnection& connection) {
    return std::pair(connection.state() == State::kWriting, connection.deadline());
  };
  auto chosen = connections_.end();
  for (auto it = connections_.begin(); it != connections_.end(); ++it) {
    if (it->second.state() == State::kAnswering) continue;
    if (chosen == connections_.end() || rank(it->second) < rank(chosen->second)) {
      chosen = it;
    }
  }
  if (chosen != connections_.end()) connections_.erase(chosen);
}

}  // namespace evenpack
