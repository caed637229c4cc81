// An index of a dataset is read as a few lines of plain code read it.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/megatron_index.h"
#include "server/core/document/document.h"
#include "tests/fuzz/given_file.h"
#include "tests/fuzz/require.h"

namespace evenpack::fuzz {
namespace {

// The machines that run this are little-endian.
template <typename Number>
Number At(std::string_view bytes, size_t offset) {
  Number number{};
  std::memcpy(&number, bytes.data() + offset, sizeof(number));
  return number;
}

// None where the file is to be refused.
std::optional<std::vector<uint32_t>> Expected(std::string_view bytes) {
  using Wide = unsigned __int128;
  if (bytes.size() < 34 || bytes.substr(0, 9) != std::string_view("MMIDIDX\0\0", 9) ||
      At<uint64_t>(bytes, 9) != 1 || bytes[17] < 1 || bytes[17] > 8) {
    return std::nullopt;
  }
  const auto sequences = At<uint64_t>(bytes, 18);
  const auto indices = At<uint64_t>(bytes, 26);
  const Wide plain = 34 + Wide{12} * sequences + Wide{8} * indices;
  if (indices == 0 || (plain != bytes.size() && plain + sequences != bytes.size())) {
    return std::nullopt;
  }
  const auto index = [&](uint64_t i) {
    return At<int64_t>(bytes, 34 + 12 * sequences + 8 * i);
  };
  if (index(0) != 0) return std::nullopt;
  std::vector<uint32_t> documents;
  for (uint64_t i = 1; i < indices; ++i) {
    if (index(i) < index(i - 1) || index(i) > static_cast<int64_t>(sequences)) {
      return std::nullopt;
    }
    uint64_t tokens = 0;
    for (int64_t at = index(i - 1); at < index(i); ++at) {
      const auto more = At<int32_t>(bytes, 34 + 4 * static_cast<size_t>(at));
      if (more < 0) return std::nullopt;
      tokens += static_cast<uint64_t>(more);
    }
    if (tokens > kMaxDocumentLength) return std::nullopt;
    documents.push_back(static_cast<uint32_t>(tokens));
  }
  if (index(indices - 1) != static_cast<int64_t>(sequences)) return std::nullopt;
  return documents;
}

absl::StatusOr<std::vector<uint32_t>> Read(const std::string& path) {
  absl::StatusOr<MegatronIndexReader> reader = MegatronIndexReader::Open(path);
  if (!reader.ok()) return reader.status();
  std::vector<uint32_t> documents;
  while (true) {
    const absl::StatusOr<std::optional<uint32_t>> tokens = reader->Next();
    if (!tokens.ok()) return tokens.status();
    if (!tokens->has_value()) return documents;
    documents.push_back(**tokens);
  }
}

}  // namespace
}  // namespace evenpack::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenpack::fuzz;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const GivenFile file(bytes);
  const auto documents = Read(file.path());
  const auto expected = Expected(bytes);
  if (expected.has_value()) {
    Require(Required(documents, "an index") == *expected, "the documents are its");
  } else {
    RequireRefusal(documents.status(), "a file that is no index",
                   absl::StatusCode::kInvalidArgument);
  }
  return 0;
}
