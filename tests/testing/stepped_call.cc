#include "tests/testing/stepped_call.h"

namespace evenpack::testing {

bool SteppedCall::Accept(const Handler& handler) {
  {
    MutexLock lock(mutex_);
    if (accepted_ || done_) return false;
    accepted_ = true;
  }
  reactor_ = handler(context_);
  BindReactor(reactor_);
  return true;
}

bool SteppedCall::Refuse() {
  MutexLock lock(mutex_);
  if (accepted_ || done_) return false;
  done_ = true;
  end_to_client_ =
      grpc::Status(grpc::StatusCode::UNAVAILABLE, "failed to connect to all addresses");
  return true;
}

bool SteppedCall::Upload() {
  bool ok = false;
  {
    MutexLock lock(mutex_);
    if (!accepted_ || done_ || told_cancel_ || read_ == nullptr) return false;
    if (!to_server_.empty()) {
      *read_ = std::move(to_server_.front());
      to_server_.pop_front();
      ok = true;
    } else if (!half_closed_ || std::exchange(told_half_close_, true)) {
      return false;
    }
    read_ = nullptr;
  }
  reactor_->OnReadDone(ok);
  return true;
}

bool SteppedCall::CompleteWrite() {
  {
    MutexLock lock(mutex_);
    if (done_ || told_cancel_ || write_ == nullptr) return false;
    to_client_.push_back(*write_);
    write_ = nullptr;
  }
  reactor_->OnWriteDone(true);
  return true;
}

bool SteppedCall::Conclude() {
  bool reads = false;
  {
    MutexLock lock(mutex_);
    if (done_ || !finish_.has_value() || write_ != nullptr) return false;
    reads = std::exchange(read_, nullptr) != nullptr;
  }
  if (reads) reactor_->OnReadDone(false);
  {
    MutexLock lock(mutex_);
    done_ = true;
    if (!end_to_client_.has_value()) end_to_client_ = *finish_;
  }
  std::exchange(reactor_, nullptr)->OnDone();
  return true;
}

bool SteppedCall::Download() {
  MutexLock lock(mutex_);
  if (ClientIsGone() || end_.has_value()) return false;
  if (!to_client_.empty()) {
    delivered_.push_back(std::move(to_client_.front()));
    to_client_.pop_front();
  } else if (end_to_client_.has_value()) {
    end_ = *end_to_client_;
  } else {
    return false;
  }
  mark_.Set(false);
  changed_.SignalAll();
  return true;
}

bool SteppedCall::Cut() {
  MutexLock lock(mutex_);
  if (ClientIsGone() || end_.has_value()) return false;
  cut_ = true;
  end_ = grpc::Status(grpc::StatusCode::UNAVAILABLE, "connection reset");
  mark_.Set(false);
  changed_.SignalAll();
  return true;
}

bool SteppedCall::Notice() {
  enum class What { kCancel, kRead, kWrite } what = What::kCancel;
  {
    MutexLock lock(mutex_);
    if (done_ || !ClientIsGone()) return false;
    if (!accepted_) {
      done_ = true;
      return true;
    }
    if (!std::exchange(told_cancel_, true)) {
      what = What::kCancel;
    } else if (std::exchange(read_, nullptr) != nullptr) {
      what = What::kRead;
    } else if (std::exchange(write_, nullptr) != nullptr) {
      what = What::kWrite;
    } else {
      return false;
    }
  }
  if (what == What::kCancel) reactor_->OnCancel();
  if (what == What::kRead) reactor_->OnReadDone(false);
  if (what == What::kWrite) reactor_->OnWriteDone(false);
  return true;
}

bool SteppedCall::ClientRead(grpc::ByteBuffer& message) {
  MutexLock lock(mutex_);
  while (delivered_.empty() && !end_.has_value() && !client_cancelled_) {
    mark_.Set(true);
    changed_.Wait(mutex_);
  }
  if (client_cancelled_ || delivered_.empty()) return false;
  message = std::move(delivered_.front());
  delivered_.pop_front();
  return true;
}

grpc::Status SteppedCall::ClientFinish() {
  MutexLock lock(mutex_);
  while (!end_.has_value() && !client_cancelled_) {
    mark_.Set(true);
    changed_.Wait(mutex_);
  }
  return end_.has_value() ? *end_ : grpc::Status::CANCELLED;
}

void SteppedCall::ClientCancel() {
  MutexLock lock(mutex_);
  client_cancelled_ = true;
  changed_.SignalAll();
}

}  // namespace evenpack::testing
