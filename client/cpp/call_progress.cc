#include "client/cpp/call_progress.h"

namespace evenpack::client {

void CallProgress::Answered() {
  if (is_answered_) return;
  is_answered_ = true;
  answered_ = clock_.Now();
}

void CallProgress::Ended() {
  if (is_answered_ && clock_.Now() - answered_ >= lasting_) backoff_.Succeeded();
}

}  // namespace evenpack::client
