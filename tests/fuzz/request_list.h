// Requests to one job, one after another, as the bytes of a fuzzer's input: for each a
// byte that says which, its length in two bytes, little-endian, and its own bytes.
#ifndef EVENPACK_TESTS_FUZZ_REQUEST_LIST_H_
#define EVENPACK_TESTS_FUZZ_REQUEST_LIST_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace google::protobuf {
class Message;
}

namespace evenpack::fuzz {

enum class RequestKind : uint8_t {
  kCreateJob,
  kUpdateJob,
  kIngest,
  kStreamSteps,
  kGetStep,
  kAcknowledge,
  kCheckpointJob,
  kRestoreJob,
  kRewindJob,
  kSkipDocuments,
};
inline constexpr size_t kRequestKinds = 10;

struct Request {
  RequestKind kind = RequestKind::kCreateJob;
  std::string bytes;
};

// An empty message of evenpack.v1 of this kind.
std::unique_ptr<google::protobuf::Message> NewMessage(RequestKind kind);

// Any bytes are a list; what is missing at their end is left out.
std::vector<Request> SplitRequests(std::string_view bytes);
std::string JoinRequests(const std::vector<Request>& requests);

}  // namespace evenpack::fuzz

#endif  // EVENPACK_TESTS_FUZZ_REQUEST_LIST_H_
