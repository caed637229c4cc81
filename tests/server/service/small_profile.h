// A cost profile for tests.
#ifndef EVENPACK_TESTS_SERVER_SERVICE_SMALL_PROFILE_H_
#define EVENPACK_TESTS_SERVER_SERVICE_SMALL_PROFILE_H_

#include <evenpack/v1/cost_profile.pb.h>

#include <cstdint>
#include <string>

namespace evenpack::testing {

// Knots at 128, 256 and 512 tokens, `tile_ns` for each pair of tiles that a slice
// attends to; 4 query heads over 2 KV heads of 64; one exchange of 2 ranks.
inline v1::CostProfile SmallProfile(const std::string& name, int64_t tile_ns = 1000) {
  v1::CostProfile profile;
  profile.set_name(name);
  profile.set_hardware("a machine");
  profile.set_kernel("a kernel");
  profile.mutable_heads()->set_query_heads(4);
  profile.mutable_heads()->set_kv_heads(2);
  profile.mutable_heads()->set_head_size(64);
  profile.set_element_type(v1::ELEMENT_TYPE_FLOAT32);
  for (const uint32_t q_len : {128U, 256U, 512U}) {
    profile.mutable_forward()->add_q_lens(q_len);
    profile.mutable_forward()->add_kv_lens(q_len);
    const int64_t q_tiles = q_len / 128;
    for (const int64_t kv_tiles : {1, 2, 4}) {
      const int64_t tiles = q_tiles * kv_tiles - q_tiles * (q_tiles - 1) / 2;
      profile.mutable_forward()->add_slice_ns(kv_tiles < q_tiles ? 0 : tiles * tile_ns);
    }
  }
  profile.mutable_forward()->set_launch_ns(500);
  *profile.mutable_backward() = profile.forward();
  v1::CollectiveLatency& exchange = *profile.add_collectives();
  exchange.set_kind(v1::COLLECTIVE_KIND_EXCHANGE);
  exchange.set_ranks(2);
  for (const uint64_t bytes : {4096U, 65536U}) {
    exchange.add_bytes(bytes);
    exchange.add_latency_ns(static_cast<int64_t>(bytes));
  }
  profile.set_measured_unix_seconds(1'790'000'000);
  return profile;
}

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_SERVICE_SMALL_PROFILE_H_
