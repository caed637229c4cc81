// Requests to a job, one after another, through the service's conversions and the
// engine: whatever is asked, each accepted document is in one place, each step is one
// that can be sharded, sent and verified, and the state survives its bytes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/request_list.h"
#include "tests/fuzz/request_mutator.h"
#include "tests/fuzz/request_player.h"

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  return evenpack::fuzz::MutateRequests(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenpack::fuzz;
  constexpr size_t kMostRequests = 64;
  std::vector<Request> requests =
      SplitRequests({reinterpret_cast<const char*>(data), size});
  if (requests.size() > kMostRequests) requests.resize(kMostRequests);
  RequestPlayer player;
  for (const Request& request : requests) player.Play(request);
  player.Finish();
  return 0;
}
