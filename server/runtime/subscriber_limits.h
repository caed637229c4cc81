// What a subscriber and a member of a group may say of themselves. The server refuses
// what is beyond it, and a client refuses that already.
#ifndef EVENPACK_SERVER_RUNTIME_SUBSCRIBER_LIMITS_H_
#define EVENPACK_SERVER_RUNTIME_SUBSCRIBER_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace evenpack {

// Subscribe.subscriber and OpenGroup.member, in bytes.
inline constexpr size_t kMaxSubscriberBytes = 256;
inline constexpr size_t kMaxMemberBytes = 256;
// Subscribe.credits: steps.
inline constexpr uint32_t kMaxCredits = 2147483647;

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_SUBSCRIBER_LIMITS_H_
