#include "tests/fuzz/request_list.h"

#include <algorithm>

#include "evenpack/v1/packing_service.pb.h"

namespace evenpack::fuzz {
namespace {

constexpr size_t kHeaderBytes = 3;
constexpr size_t kMostBytes = 0xffff;

}  // namespace

std::unique_ptr<google::protobuf::Message> NewMessage(RequestKind kind) {
  switch (kind) {
    case RequestKind::kCreateJob:
      return std::make_unique<v1::CreateJobRequest>();
    case RequestKind::kUpdateJob:
      return std::make_unique<v1::UpdateJobRequest>();
    case RequestKind::kIngest:
      return std::make_unique<v1::IngestRequest>();
    case RequestKind::kStreamSteps:
      return std::make_unique<v1::StreamStepsRequest>();
    case RequestKind::kGetStep:
      return std::make_unique<v1::GetStepRequest>();
    case RequestKind::kAcknowledge:
      return std::make_unique<v1::AcknowledgeRequest>();
    case RequestKind::kCheckpointJob:
      return std::make_unique<v1::CheckpointJobRequest>();
    case RequestKind::kRestoreJob:
      return std::make_unique<v1::RestoreJobRequest>();
    case RequestKind::kRewindJob:
      return std::make_unique<v1::RewindJobRequest>();
    case RequestKind::kSkipDocuments:
      break;
  }
  return std::make_unique<v1::SkipDocumentsRequest>();
}

std::vector<Request> SplitRequests(std::string_view bytes) {
  std::vector<Request> requests;
  while (bytes.size() >= kHeaderBytes) {
    const auto at = [bytes](size_t i) { return static_cast<unsigned char>(bytes[i]); };
    const size_t size =
        std::min<size_t>(at(1) | size_t{at(2)} << 8U, bytes.size() - kHeaderBytes);
    requests.push_back({static_cast<RequestKind>(at(0) % kRequestKinds),
                        std::string(bytes.substr(kHeaderBytes, size))});
    bytes.remove_prefix(kHeaderBytes + size);
  }
  return requests;
}

std::string JoinRequests(const std::vector<Request>& requests) {
  std::string bytes;
  for (const Request& request : requests) {
    const size_t size = std::min(request.bytes.size(), kMostBytes);
    bytes += static_cast<char>(request.kind);
    bytes += static_cast<char>(size & 0xffU);
    bytes += static_cast<char>(size >> 8U);
    bytes.append(request.bytes, 0, size);
  }
  return bytes;
}

}  // namespace evenpack::fuzz
