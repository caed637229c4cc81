// How far back a producer's documents are compared.
#ifndef EVENPACK_SERVER_CORE_DOCUMENT_COMPARED_DOCUMENTS_H_
#define EVENPACK_SERVER_CORE_DOCUMENT_COMPARED_DOCUMENTS_H_

#include <cstddef>

namespace evenpack {

// Documents of a stream whose content the server compares where they are sent again:
// the last so many that it accepted. Producers keep as many to send again.
inline constexpr size_t kComparedDocuments = 4096;

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_DOCUMENT_COMPARED_DOCUMENTS_H_
