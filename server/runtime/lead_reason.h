// Why a call about a job of a shared store is refused by a server that doesn't lead it;
// reasons as in StatusDetail, docs/api.md.
#ifndef EVENPACK_SERVER_RUNTIME_LEAD_REASON_H_
#define EVENPACK_SERVER_RUNTIME_LEAD_REASON_H_

namespace evenpack {

// Another server leads it, whose `address` the detail has.
inline constexpr char kLedElsewhere[] = "LED_ELSEWHERE";
// Nobody does just now: soon there will be one.
inline constexpr char kNoLeader[] = "NO_LEADER";

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_LEAD_REASON_H_
