#include "tests/fuzz/sealed_state.h"

#include "server/core/digest/digest.h"
#include "server/core/engine/byte_codec.h"
#include "server/core/engine/field_codec.h"
#include "server/core/engine/state_codec.h"
#include "tests/fuzz/require.h"

namespace evenpack::fuzz {
namespace {

constexpr size_t kHeaderBytes = 12;
constexpr size_t kDigestBytes = 16;

std::string Header() {
  static const std::string header = [] {
    const std::string state = EncodeState(JobState());
    Require(state.size() > kHeaderBytes + kDigestBytes, "a state has a body");
    return state.substr(0, kHeaderBytes);
  }();
  return header;
}

}  // namespace

std::string Sealed(std::string_view body) {
  std::string bytes = Header();
  bytes += body;
  DigestBuilder digest;
  digest.Text(bytes);
  ByteWriter writer;
  writer.All(digest.Finish());
  return bytes + writer.bytes();
}

std::string_view BodyOf(std::string_view state) {
  return state.substr(kHeaderBytes, state.size() - kHeaderBytes - kDigestBytes);
}

}  // namespace evenpack::fuzz
