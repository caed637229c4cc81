// Reasons of errors that more than one place gives or goes by; docs/api.md lists them
// all with what to do. As StatusDetail::reason.
#ifndef EVENPACK_SERVER_RUNTIME_ERROR_REASON_H_
#define EVENPACK_SERVER_RUNTIME_ERROR_REASON_H_

namespace evenpack {

// Another server leads the job, whose `address` the detail has.
inline constexpr char kLedElsewhere[] = "LED_ELSEWHERE";
// Nobody leads it just now: soon there will be one.
inline constexpr char kNoLeader[] = "NO_LEADER";
// The process shuts down.
inline constexpr char kDraining[] = "DRAINING";
inline constexpr char kTooManyCalls[] = "TOO_MANY_CALLS";
// Of a message that is larger than the server sends.
inline constexpr char kAnswerTooLarge[] = "ANSWER_TOO_LARGE";

inline constexpr char kJobNotFound[] = "JOB_NOT_FOUND";
inline constexpr char kProfileNotFound[] = "PROFILE_NOT_FOUND";
inline constexpr char kStreamNotFound[] = "STREAM_NOT_FOUND";

inline constexpr char kEpochEnded[] = "EPOCH_ENDED";
inline constexpr char kHistoryDiffers[] = "HISTORY_DIFFERS";
inline constexpr char kStepLetGo[] = "STEP_LET_GO";
inline constexpr char kClaimTaken[] = "CLAIM_TAKEN";
inline constexpr char kDurableNotClaimed[] = "DURABLE_NOT_CLAIMED";

// Of a disk that is full: there may be room again.
inline constexpr char kStoreFull[] = "STORE_FULL";
// Of a store that fails otherwise.
inline constexpr char kStoreFailed[] = "STORE_FAILED";
// Of what a store holds whole, in a version that this program doesn't know.
inline constexpr char kStoreOtherVersion[] = "STORE_OTHER_VERSION";

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_ERROR_REASON_H_
