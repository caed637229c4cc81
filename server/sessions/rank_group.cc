#include "server/sessions/rank_group.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

absl::Status Check(const MemberRequest& request, uint64_t known_epoch) {
  absl::Status status =
      CheckBytes("address", request.address, 1, kMaxMemberAddressBytes);
  // What the group itself formed on top of a member's claim is one of its epochs too.
  const uint64_t last = std::max(kMaxGroupEpoch, known_epoch);
  if (status.ok()) status = CheckRange("epoch", request.epoch, 0, last);
  if (!status.ok()) return status;
  if (request.connected && request.epoch == 0) {
    return InvalidField("connected", "true in epoch 0", "false, or an epoch from 1");
  }
  return absl::OkStatus();
}

}  // namespace

RankGroup::Standing RankGroup::StandingOf(const MemberRequest& request) const {
  if (!request.connected) return Standing::kAwaiting;
  if (!formed_) {
    // An epoch that broke up, or that of a server before this one.
    const std::optional<Member>& known = members_[request.cp_rank];
    const bool broken = known.has_value() && known->request.name == request.name &&
                        known->standing != Standing::kClaiming;
    return broken || request.epoch < epoch_ ? Standing::kGivingUp : Standing::kClaiming;
  }
  const Member& known = *members_[request.cp_rank];
  const bool in_it = request.epoch == epoch_ && request.name == known.request.name;
  return in_it ? Standing::kConnected : Standing::kGivingUp;
}

absl::Status RankGroup::Join(const MemberRequest& request) {
  if (absl::Status status = Check(request, epoch_); !status.ok()) return status;
  const Standing standing = StandingOf(request);
  members_[request.cp_rank] = Member{request, standing};
  epoch_ = std::max(epoch_, request.epoch);
  if (standing == Standing::kConnected) return absl::OkStatus();
  if (standing != Standing::kClaiming || !ClaimsAgree()) BreakUp();
  if (AllPresentAre(Standing::kAwaiting)) {
    Form();
  } else if (AllPresentAre(Standing::kClaiming)) {
    formed_ = true;
    for (std::optional<Member>& member : members_) {
      member->standing = Standing::kConnected;
    }
  }
  return absl::OkStatus();
}

void RankGroup::Leave(uint32_t cp_rank) { members_.at(cp_rank)->present = false; }

MemberMessage RankGroup::Next(uint32_t cp_rank) {
  std::optional<Member>& member = members_.at(cp_rank);
  if (member->told) return AwaitPeers{};
  if (stands()) {
    member->told = true;
    return EpochStands{epoch_};
  }
  if (member->standing == Standing::kConnecting) {
    member->told = true;
    member->request.epoch = epoch_;
    return ConnectPeers{epoch_, addresses_};
  }
  if (member->standing == Standing::kGivingUp) {
    member->told = true;
    return GiveUpEpoch{member->request.epoch};
  }
  return AwaitPeers{};
}

bool RankGroup::stands() const {
  return std::all_of(
      members_.begin(), members_.end(), [](const std::optional<Member>& member) {
        return member.has_value() && member->standing == Standing::kConnected;
      });
}

bool RankGroup::AllPresentAre(Standing standing) const {
  return std::all_of(members_.begin(), members_.end(),
                     [standing](const std::optional<Member>& member) {
                       return member.has_value() && member->present &&
                              member->standing == standing;
                     });
}

// Connections stand only where all ranks are in the same epoch.
bool RankGroup::ClaimsAgree() const {
  return std::all_of(
      members_.begin(), members_.end(), [this](const std::optional<Member>& member) {
        return !member.has_value() || (member->standing == Standing::kClaiming &&
                                       member->request.epoch == epoch_);
      });
}

void RankGroup::BreakUp() {
  formed_ = false;
  for (std::optional<Member>& member : members_) {
    if (!member.has_value() || member->standing == Standing::kAwaiting ||
        member->standing == Standing::kGivingUp) {
      continue;
    }
    // Who was not told of the epoch has nothing to give up.
    const bool unaware = member->standing == Standing::kConnecting && !member->told;
    member->standing = unaware ? Standing::kAwaiting : Standing::kGivingUp;
    member->told = false;
  }
}

void RankGroup::Form() {
  ++epoch_;
  formed_ = true;
  GroupAddresses addresses;
  for (std::optional<Member>& member : members_) {
    member->standing = Standing::kConnecting;
    member->told = false;
    addresses.push_back(member->request.address);
  }
  addresses_ = std::make_shared<const GroupAddresses>(std::move(addresses));
}

}  // namespace evenpack
