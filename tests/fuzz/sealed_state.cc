#include "tests/fuzz/sealed_state.h"

#include "server/core/digest/digest.h"
#include "server/core/engine/byte_codec.h"
#include "server/core/engine/field_codec.h"
#include "server/core/engine/state_codec.h"
#include "tests/fuzz/require.h"

namespace evenpack::fuzz {
namespace {

constexpr size_t kMagicBytes = 8;
constexpr size_t kHeaderBytes = 12;
constexpr size_t kDigestBytes = 16;

std::string Magic() {
  static const std::string magic = [] {
    const std::string state = EncodeState(JobState());
    Require(state.size() > kHeaderBytes + kDigestBytes, "a state has a body");
    return state.substr(0, kMagicBytes);
  }();
  return magic;
}

}  // namespace

std::string Sealed(std::string_view body, uint32_t version) {
  ByteWriter header;
  header.All(version);
  std::string bytes = Magic() + header.bytes();
  bytes += body;
  DigestBuilder digest;
  digest.Text(bytes);
  ByteWriter seal;
  seal.All(digest.Finish());
  return bytes + seal.bytes();
}

std::string_view HeaderOf(std::string_view state) {
  return state.substr(0, kHeaderBytes);
}

std::string_view BodyOf(std::string_view state) {
  return state.substr(kHeaderBytes, state.size() - kHeaderBytes - kDigestBytes);
}

}  // namespace evenpack::fuzz
