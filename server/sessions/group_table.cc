#include "server/sessions/group_table.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/request_limits.h"
#include "server/runtime/status_detail.h"

namespace evenpack {
namespace {

absl::Status SeatTaken(const GroupSeat& seat) {
  return WithDetail(
      absl::AbortedError(absl::StrCat("cp_rank ", seat.cp_rank, " of dp_rank ",
                                      seat.dp_rank, " was taken by a newer call than ",
                                      "this one of '", seat.member, "'")),
      {"SEAT_TAKEN", {{"member", seat.member}}});
}

}  // namespace

absl::Status CheckSeat(const GroupSeat& seat) {
  if (seat.cp_rank >= seat.cp_size) {
    return InvalidField("cp_rank", seat.cp_rank,
                        absl::StrCat("0 to ", seat.cp_size - 1));
  }
  return CheckBytes("member", seat.member, 1, kMaxMemberBytes);
}

GroupTable::Members GroupTable::Group::Seated() const {
  Members seated;
  std::copy_if(calls.begin(), calls.end(), std::back_inserter(seated),
               [](const auto& call) { return call != nullptr; });
  return seated;
}

GroupTable::Group* GroupTable::FindSeated(const GroupSeat& seat,
                                          const Subscriber& call) {
  const auto found = groups_.find(KeyOf(seat));
  if (found == groups_.end()) return nullptr;
  Group& group = found->second;
  return group.calls[seat.cp_rank].get() == &call ? &group : nullptr;
}

absl::Status GroupTable::EndOf(const GroupSeat& seat, const Subscriber& call) const {
  const auto away = sent_away_.find(&call);
  return away == sent_away_.end() ? SeatTaken(seat) : away->second;
}

absl::StatusOr<GroupTable::Members> GroupTable::Tell(Group& group,
                                                     const GroupSeat& seat,
                                                     const MemberState& state) {
  absl::Status status = group.ranks.Join(
      {seat.cp_rank, seat.member, state.address, state.epoch, state.connected});
  if (!status.ok()) return status;
  return group.Seated();
}

absl::StatusOr<GroupTable::Members> GroupTable::Join(
    const GroupSeat& seat, const MemberState& state,
    const std::shared_ptr<Subscriber>& call) {
  MutexLock lock(mutex_);
  if (ended_.has_value()) return *ended_;
  const auto [entry, is_new] = groups_.try_emplace(KeyOf(seat), seat.cp_size);
  const Subscriber* const seated =
      is_new ? nullptr : entry->second.calls[seat.cp_rank].get();
  if (seated != nullptr && call->IsOlderThan(*seated)) return SeatTaken(seat);
  absl::StatusOr<Members> woken = Tell(entry->second, seat, state);
  if (!woken.ok()) {
    if (is_new) groups_.erase(entry);
    return woken;
  }
  // Whose seat this was is among the woken, and ends.
  entry->second.calls[seat.cp_rank] = call;
  woken->push_back(call);
  return woken;
}

absl::StatusOr<GroupTable::Members> GroupTable::Tell(const GroupSeat& seat,
                                                     const MemberState& state,
                                                     const Subscriber& call) {
  MutexLock lock(mutex_);
  if (ended_.has_value()) return *ended_;
  Group* const group = FindSeated(seat, call);
  if (group == nullptr) return EndOf(seat, call);
  return Tell(*group, seat, state);
}

absl::StatusOr<MemberMessage> GroupTable::Next(const GroupSeat& seat,
                                               const Subscriber& call) {
  MutexLock lock(mutex_);
  if (ended_.has_value()) return *ended_;
  Group* const group = FindSeated(seat, call);
  if (group == nullptr) return EndOf(seat, call);
  return group->ranks.Next(seat.cp_rank);
}

void GroupTable::Leave(const GroupSeat& seat, const Subscriber& call) {
  std::shared_ptr<Subscriber> freed;  // under no lock
  MutexLock lock(mutex_);
  sent_away_.erase(&call);
  Group* const group = FindSeated(seat, call);
  if (group == nullptr) return;
  group->ranks.Leave(seat.cp_rank);
  freed = std::exchange(group->calls[seat.cp_rank], nullptr);
  if (group->Seated().empty()) groups_.erase(KeyOf(seat));
}

GroupTable::Members GroupTable::EndThoseThatWait(const absl::Status& status) {
  MutexLock lock(mutex_);
  Members woken;
  for (auto entry = groups_.begin(); entry != groups_.end();) {
    if (entry->second.IsComplete()) {
      ++entry;
      continue;
    }
    for (const std::shared_ptr<Subscriber>& call : entry->second.Seated()) {
      sent_away_.emplace(call.get(), status);
      woken.push_back(call);
    }
    entry = groups_.erase(entry);
  }
  return woken;
}

GroupTable::Members GroupTable::EndAll(absl::Status status) {
  MutexLock lock(mutex_);
  ended_ = std::move(status);
  Members woken;
  for (const auto& [key, group] : groups_) {
    const Members seated = group.Seated();
    woken.insert(woken.end(), seated.begin(), seated.end());
  }
  return woken;
}

GroupFigures GroupTable::Figures() const {
  MutexLock lock(mutex_);
  GroupFigures figures;
  figures.groups = groups_.size();
  for (const auto& [key, group] : groups_) {
    if (group.ranks.stands()) ++figures.standing;
    figures.members += group.Seated().size();
  }
  return figures;
}

}  // namespace evenpack
