// The membership of a group over a stub.
#ifndef EVENPACK_CLIENT_CPP_GROUP_SESSION_H_
#define EVENPACK_CLIENT_CPP_GROUP_SESSION_H_

#include <memory>
#include <optional>
#include <stop_token>
#include <thread>

#include "client/cpp/api_messages.h"
#include "client/cpp/backoff.h"
#include "client/cpp/client_options.h"
#include "client/cpp/group_mailbox.h"
#include "client/cpp/group_member.h"
#include "client/cpp/stub.h"
#include "server/runtime/mutex.h"

namespace evenpack::client {

// What GroupMember says. A thread opens calls and reads news.
class GroupSession final : public GroupMember {
 public:
  // Both options are valid.
  GroupSession(std::shared_ptr<Stub> stub, ClientOptions client_options,
               GroupOptions options);
  ~GroupSession() override;
  GroupSession(const GroupSession&) = delete;
  GroupSession& operator=(const GroupSession&) = delete;

  absl::StatusOr<GroupNews> Next() override;
  void Report(const MemberState& state) override;
  void Cancel() override;

 private:
  // The session thread.
  void Run(const std::stop_token& stop);
  bool AwaitReport();
  absl::Status OneCall(Backoff& backoff, const std::stop_token& stop);
  void Deliver(const v1::JoinGroupResponse& response);
  bool GoesOn(const absl::Status& status, Backoff& backoff,
              const std::stop_token& stop);
  void SetFinal(const absl::Status& status);

  void Tell(GroupStream& stream) const EVENPACK_REQUIRES(mutex_);

  const std::shared_ptr<Stub> stub_;
  const ClientOptions client_options_;
  const GroupOptions options_;

  mutable Mutex mutex_;
  CondVar changed_;
  // The call that may be written to, null while there is none.
  std::shared_ptr<GroupStream> stream_ EVENPACK_GUARDED_BY(mutex_);
  GroupMailbox mailbox_ EVENPACK_GUARDED_BY(mutex_);
  std::optional<absl::Status> final_ EVENPACK_GUARDED_BY(mutex_);

  std::jthread thread_;
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_GROUP_SESSION_H_
