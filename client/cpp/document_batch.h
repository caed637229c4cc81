// Documents put together to one message.
#ifndef EVENPACK_CLIENT_CPP_DOCUMENT_BATCH_H_
#define EVENPACK_CLIENT_CPP_DOCUMENT_BATCH_H_

#include <cstddef>
#include <cstdint>

#include "client/cpp/api_messages.h"
#include "client/cpp/producer.h"

namespace evenpack::client {

// One of some documents, and where its tokens begin.
struct DocumentPlace {
  size_t document = 0;
  // In token_ids; 0 where that is empty.
  size_t token = 0;
};

// How many documents from `first` on, at most `most`, have no more than `bytes` of
// token ids together. `most` where they come without, or with their place alone.
size_t CountWithin(const DocumentColumns& documents, size_t first, size_t most,
                   uint64_t bytes);

// Token ids that a server reads for a message of several documents, at most: what it
// keeps together, 64 MiB.
inline constexpr uint64_t kMaxTokensToRead = uint64_t{1} << 24;

// How many documents from `first` on, at most `most`, have no more than `tokens` in
// their file together. `most` where they have none.
size_t CountReadWithin(const DocumentColumns& documents, size_t first, size_t most,
                       uint64_t tokens);

// What `count` documents from `first` on have in their file; 0 where there is none.
uint64_t TokensToRead(const DocumentColumns& documents, size_t first, size_t count);

// Whether documents may follow those of a message: it has one token file or none.
bool FitTokenFile(const DocumentColumns& documents, const v1::DocumentBatch& batch);

// Appends `count` documents from `first` on. `documents` are valid. A column that was
// left out on one side and not on the other is filled with what it stood for. Token ids
// are AppendTokens'.
void AppendDocuments(const DocumentColumns& documents, size_t first, size_t count,
                     v1::DocumentBatch& batch);

// Appends the token ids of `count` documents from `place` on, which moves behind them,
// or where they are in a file, which FitTokenFile() says is the message's. Nothing
// stands for token ids that were left out: a message that has them of some of its
// documents is refused by the server.
void AppendTokens(const DocumentColumns& documents, size_t count, DocumentPlace& place,
                  v1::DocumentBatch& batch);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_DOCUMENT_BATCH_H_
