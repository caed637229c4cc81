// Where documents' token ids lie in a file.
#ifndef EVENPACK_SERVER_CORE_DOCUMENT_TOKEN_FILE_H_
#define EVENPACK_SERVER_CORE_DOCUMENT_TOKEN_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace evenpack {

struct TokenFile {
  std::string path;
  // Of a token id, little-endian: 2 or 4.
  uint32_t token_bytes = 4;
  // Where each document's tokens begin, in bytes.
  std::vector<uint64_t> offsets;

  friend bool operator==(const TokenFile&, const TokenFile&) = default;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_DOCUMENT_TOKEN_FILE_H_
