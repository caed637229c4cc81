// A step's message from anywhere is refused by a client, or is one that a trainer can
// look into, rank by rank.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "client/cpp/micro_batch_view.h"
#include "client/cpp/rank_step.h"
#include "client/cpp/verify_step.h"
#include "evenpack/v1/job.pb.h"
#include "evenpack/v1/step.pb.h"
#include "tests/fuzz/message_mutator.h"
#include "tests/fuzz/require.h"

namespace evenpack::fuzz {
namespace {

using client::MicroBatchView;
using client::RankStep;

// Columns by token are as long as a message says: some bytes can ask for gigabytes.
constexpr uint64_t kMostTokens = 1U << 16U;
constexpr uint32_t kMostRanks = 32;

void LookAtRank(const MicroBatchView& view, const RankSlices& slices) {
  const client::SlicePositions positions = view.PositionsOf(slices);
  Require(positions.local_begin.size() == slices.document.size() + 1,
          "each slice has its place");
  if (slices.tokens > kMostTokens) return;
  for (const int32_t index : view.TokenIndices(slices)) {
    Require(index >= 0 && static_cast<uint64_t>(index) < view.tokens(),
            "a slice's tokens are the micro-batch's");
  }
}

void LookAt(const MicroBatchView& view) {
  const auto count = view.documents().size();
  Require(view.cu_seqlens().size() == count + 1, "each document has its place");
  Require(view.cu_seqlens_padded().size() == count + 1, "so it has with padding");
  Require(view.cu_seqlens().back() == static_cast<int64_t>(view.tokens()),
          "documents fill the micro-batch");
  Require(std::is_sorted(view.cu_seqlens().begin(), view.cu_seqlens().end()) &&
              std::is_sorted(view.cu_seqlens_padded().begin(),
                             view.cu_seqlens_padded().end()),
          "places rise");
  if (view.padded_tokens() <= kMostTokens) {
    Require(view.PositionIds().size() == view.tokens(), "each token has a position");
    Require(count == 0 || view.PaddedPositionIds().size() == view.padded_tokens(),
            "so it has with padding");
  }
  for (uint32_t rank = 0; rank < std::min(view.context_parallel(), kMostRanks);
       ++rank) {
    LookAtRank(view, view.Slices(rank));
  }
  if (view.cp_rank().has_value()) LookAtRank(view, view.own_slices());
}

}  // namespace
}  // namespace evenpack::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  using namespace evenpack;
  fuzz::Random random(seed);
  v1::Step message;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (fuzz::Below(random, 8) == 0 || !message.ParseFromString(bytes)) {
    bytes = fuzz::ChangedBytes(std::move(bytes));
  } else {
    fuzz::Mutate(message, random);
    message.SerializePartialToString(&bytes);
  }
  return bytes.copy(reinterpret_cast<char*>(data), max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenpack;
  v1::Step message;
  if (!message.ParseFromArray(data, static_cast<int>(size))) return 0;
  const auto step =
      client::RankStep::FromMessage(message, std::make_shared<const v1::JobSpec>());
  if (!step.ok()) {
    fuzz::RequireRefusal(step.status(), "a message that is no step",
                         absl::StatusCode::kDataLoss);
    return 0;
  }
  const absl::Status verified = client::VerifyStep(*step, step->previous_digest());
  if (!verified.ok()) {
    fuzz::RequireRefusal(verified, "a step that is another than it claims",
                         absl::StatusCode::kDataLoss);
  }
  for (const client::MicroBatchView& view : step->micro_batches()) fuzz::LookAt(view);
  return 0;
}
