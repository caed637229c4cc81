// Documents put together to one message.
#ifndef EVENPACK_CLIENT_CPP_DOCUMENT_BATCH_H_
#define EVENPACK_CLIENT_CPP_DOCUMENT_BATCH_H_

#include <cstddef>

#include "client/cpp/api_messages.h"
#include "client/cpp/producer.h"

namespace evenpack::client {

// Appends `count` documents from `first` on. `documents` are valid. A column that was
// left out on one side and not on the other is filled with what it stood for.
void AppendDocuments(const DocumentColumns& documents, size_t first, size_t count,
                     v1::DocumentBatch& batch);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_DOCUMENT_BATCH_H_
