#include "client/cli/online/profile_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "client/cli/online/message_file.h"
#include "evenpack/v1/cost_profile.pb.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;

v1::CostProfile Profile() {
  v1::CostProfile profile;
  EXPECT_THAT(ParseMessage("FILE", "p.textproto", R"(
      name: 'cpu' hardware: 'a machine' kernel: 'a kernel'
      heads { query_heads: 4 kv_heads: 2 head_size: 64 }
      element_type: ELEMENT_TYPE_BFLOAT16
      forward { q_lens: [128, 256] kv_lens: [128, 256]
                slice_ns: [1000, 2000, 0, 3500] launch_ns: 700 }
      collectives { kind: COLLECTIVE_KIND_EXCHANGE ranks: 2 bytes: [1000, 2000]
                    latency_ns: [500, 0] }
      measured_unix_seconds: 86400)",
                           profile),
              IsOk());
  return profile;
}

TEST(ProfileReportTest, ShowsWhatWasMeasured) {
  EXPECT_EQ(ProfileText(Profile()),
            "profile    cpu\n"
            "hardware   a machine\n"
            "kernel     a kernel\n"
            "heads      4:2 x 64, bfloat16\n"
            "measured   1970-01-02 00:00 UTC\n"
            "\n"
            "forward of a slice, us; 700 ns a launch on top\n"
            "q_len  kv 128  kv 256\n"
            "  128     1.0     2.0\n"
            "  256             3.5\n"
            "\n"
            "exchange, by what each rank receives\n"
            "ranks  bytes   us   GB/s\n"
            "    2  1,000  0.5  2.000\n"
            "    2  2,000  0.0\n");
  v1::CostProfile profile = Profile();
  *profile.mutable_backward() = profile.forward();
  profile.clear_measured_unix_seconds();
  EXPECT_THAT(ProfileText(profile), HasSubstr("backward of a slice"));
  EXPECT_THAT(ProfileText(profile), HasSubstr("measured   unknown\n"));
}

TEST(ProfileReportTest, ItsJsonIsAFileThatPutReads) {
  v1::CostProfile again;
  ASSERT_THAT(ParseMessage("FILE", "p.json", ProfileJson(Profile()), again), IsOk());
  EXPECT_EQ(again.SerializeAsString(), Profile().SerializeAsString());
}

TEST(ProfileReportTest, AListHasNoTables) {
  v1::ListCostProfilesResponse listed;
  v1::CostProfile& profile = *listed.add_profiles();
  profile = Profile();
  profile.clear_forward();
  profile.clear_collectives();
  listed.add_broken_profiles()->set_name("bad");
  listed.mutable_broken_profiles(0)->set_error("damaged");
  EXPECT_EQ(ProfilesText(listed),
            "profile  hardware   kernel    heads     elements  measured\n"
            "cpu      a machine  a kernel  4:2 x 64  bfloat16  1970-01-02 00:00 UTC\n"
            "bad is broken: damaged\n");
  const nlohmann::json json = nlohmann::json::parse(ProfilesJson(listed));
  EXPECT_EQ(json["profiles"][0]["kernel"], "a kernel");
  EXPECT_FALSE(json["profiles"][0].contains("forward"));
  EXPECT_FALSE(json["profiles"][0].contains("collectives"));
  EXPECT_EQ(json["broken_profiles"][0]["error"], "damaged");
}

}  // namespace
}  // namespace evenpack
