// The tokens of a job's documents, from when they are accepted until no step that is
// kept, or is to come, has them.
#ifndef EVENPACK_SERVER_PAYLOAD_TOKEN_BOOK_H_
#define EVENPACK_SERVER_PAYLOAD_TOKEN_BOOK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/core/document/document.h"
#include "server/core/document/step.h"
#include "server/payload/step_payload.h"
#include "server/payload/token_batch.h"

namespace evenpack {

// Not thread-safe; what it hands out is.
class TokenBook {
 public:
  using Batch = std::shared_ptr<const TokenBatch>;

  // Documents behind those that the stream has.
  void Put(uint32_t stream, Batch batch);
  // Drops the batches of a stream that end at `sequence` or before it, and returns them
  // in order.
  std::vector<Batch> DropBelow(uint32_t stream, uint64_t sequence);
  // The batch that begins with this document; null where there is none.
  Batch From(uint32_t stream, uint64_t first_sequence) const;

  // The first of the documents with these lengths from `sequence` on that is held with
  // other tokens than these, if one is.
  std::optional<uint64_t> FirstDifference(uint32_t stream, uint64_t sequence,
                                          std::span<const uint32_t> lengths,
                                          std::string_view tokens) const;

  // DATA_LOSS naming the document that there are no tokens of.
  absl::StatusOr<std::shared_ptr<const StepPayload>> Of(const Step& step) const;

  // Of all tokens.
  uint64_t bytes() const { return bytes_; }

 private:
  using Batches = std::map<uint64_t, Batch>;

  // Null where there is none.
  Batch Find(uint32_t stream, uint64_t sequence) const;

  // By stream, by first sequence number.
  std::map<uint32_t, Batches> streams_;
  uint64_t bytes_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_PAYLOAD_TOKEN_BOOK_H_
