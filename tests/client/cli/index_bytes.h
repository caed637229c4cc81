// The bytes of an index of a Megatron-Core dataset, written by its format.
#ifndef EVENPACK_TESTS_CLIENT_CLI_INDEX_BYTES_H_
#define EVENPACK_TESTS_CLIENT_CLI_INDEX_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace evenpack::testing {

inline void AppendNumber(uint64_t number, size_t width, std::string& bytes) {
  for (size_t i = 0; i < width; ++i) {
    bytes.push_back(static_cast<char>(number >> (8 * i)));
  }
}

struct IndexContent {
  uint64_t version = 1;
  uint8_t type = 8;
  std::vector<int32_t> sequences;
  std::vector<int64_t> indices;
  bool has_modes = false;

  // One sequence after another, each document's together.
  static IndexContent Of(const std::vector<std::vector<int32_t>>& documents) {
    IndexContent content;
    content.indices.push_back(0);
    for (const std::vector<int32_t>& document : documents) {
      content.sequences.insert(content.sequences.end(), document.begin(),
                               document.end());
      content.indices.push_back(static_cast<int64_t>(content.sequences.size()));
    }
    return content;
  }

  std::string Bytes() const {
    std::string bytes("MMIDIDX\0\0", 9);
    AppendNumber(version, 8, bytes);
    AppendNumber(type, 1, bytes);
    AppendNumber(sequences.size(), 8, bytes);
    AppendNumber(indices.size(), 8, bytes);
    for (const int32_t tokens : sequences) {
      AppendNumber(static_cast<uint32_t>(tokens), 4, bytes);
    }
    uint64_t pointer = 0;
    for (const int32_t tokens : sequences) {
      AppendNumber(pointer, 8, bytes);
      pointer += 2 * static_cast<uint64_t>(tokens);
    }
    for (const int64_t index : indices) {
      AppendNumber(static_cast<uint64_t>(index), 8, bytes);
    }
    if (has_modes) bytes.append(sequences.size(), '\1');
    return bytes;
  }
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_CLIENT_CLI_INDEX_BYTES_H_
