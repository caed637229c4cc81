// What a request may ask for: the server refuses what is beyond it, and a client
// refuses that already.
#ifndef EVENPACK_SERVER_RUNTIME_REQUEST_LIMITS_H_
#define EVENPACK_SERVER_RUNTIME_REQUEST_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace evenpack {

// Subscribe.subscriber and OpenGroup.member, in bytes.
inline constexpr size_t kMaxSubscriberBytes = 256;
inline constexpr size_t kMaxMemberBytes = 256;
// Subscribe.credits: steps.
inline constexpr uint32_t kMaxCredits = 2147483647;
// DocumentBatch.length: documents. All jobs of a store wait for a batch's commit.
inline constexpr size_t kMaxBatchDocuments = 1048576;

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_REQUEST_LIMITS_H_
