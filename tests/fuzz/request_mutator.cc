#include "tests/fuzz/request_mutator.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/message_mutator.h"
#include "tests/fuzz/request_list.h"

namespace evenpack::fuzz {
namespace {

void MutateOne(Request& request, Random& random) {
  const auto message = NewMessage(request.kind);
  if (Below(random, 8) == 0 || !message->ParseFromString(request.bytes)) {
    request.bytes = ChangedBytes(std::move(request.bytes));
    return;
  }
  for (size_t i = 0; i <= Below(random, 3); ++i) Mutate(*message, random);
  message->SerializePartialToString(&request.bytes);
}

void MutateList(std::vector<Request>& requests, Random& random) {
  const size_t choice = requests.empty() ? 0 : Below(random, 10);
  const size_t at = Below(random, requests.size() + 1);
  const auto place = requests.begin() + static_cast<ptrdiff_t>(at);
  if (choice == 0) {
    requests.insert(place,
                    {static_cast<RequestKind>(Below(random, kRequestKinds)), ""});
  } else if (choice == 1) {
    requests.erase(requests.begin() +
                   static_cast<ptrdiff_t>(Below(random, requests.size())));
  } else if (choice == 2) {
    const Request copy = requests[Below(random, requests.size())];
    requests.insert(place, copy);
  } else if (choice == 3) {
    std::swap(requests[Below(random, requests.size())],
              requests[Below(random, requests.size())]);
  } else {
    MutateOne(requests[Below(random, requests.size())], random);
  }
}

}  // namespace

size_t MutateRequests(uint8_t* data, size_t size, size_t max_size, uint32_t seed) {
  Random random(seed);
  std::vector<Request> requests =
      SplitRequests({reinterpret_cast<const char*>(data), size});
  MutateList(requests, random);
  const std::string bytes = JoinRequests(requests);
  const size_t taken = std::min(bytes.size(), max_size);
  std::memcpy(data, bytes.data(), taken);
  return taken;
}

}  // namespace evenpack::fuzz
