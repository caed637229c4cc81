#include "client/cli/online/latency_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "client/cli/online/message_file.h"
#include "evenpack/v1/latency.pb.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::IsOk;

v1::GetLatencyResponse Latency(const std::string& text) {
  v1::GetLatencyResponse latency;
  EXPECT_THAT(ParseMessage("FILE", "l.textproto", text, latency), IsOk());
  return latency;
}

v1::GetLatencyResponse ThreeSteps() {
  return Latency(R"(
      steps { step: 6 ranks: 2 ranks_reported: 2
              excess { step_ns: 9000 even_ns: 5000 machine_ns: 4000 scale: 2
                       latest { dp_rank: 0 cp_rank: 1 late_ns: 3000 } } }
      steps { step: 7 ranks: 2 ranks_reported: 2
              excess { step_ns: 10500 even_ns: 5000 packing_ns: 1000
                       cp_sharding_ns: 2000 communication_ns: 500 machine_ns: 2000
                       scale: 2.5
                       latest { dp_rank: 0 cp_rank: 1 late_ns: 2000 } }
              rank_latencies { cp_rank: 1 predicted_forward_ns: 2000 forward_ns: 3000
                               backward_ns: 4000 waited_ns: 500 late_ns: 2000 }
              rank_latencies { predicted_forward_ns: 2000 forward_ns: 2000
                               backward_ns: 3000 waited_ns: 2500 } }
      steps { step: 8 ranks: 2 ranks_reported: 1 })");
}

TEST(LatencyReportTest, ShowsStepsTheRanksOfTheLastWholeOneAndTheStraggler) {
  EXPECT_EQ(
      LatencyText(ThreeSteps()),
      "step  ranks    us  even  packing  cp sharding  communication  machine  latest\n"
      "   6    2/2   9.0   5.0      0.0          0.0            0.0      4.0  dp 0 cp "
      "1\n"
      "   7    2/2  10.5   5.0      1.0          2.0            0.5      2.0  dp 0 cp "
      "1\n"
      "   8    1/2\n"
      "\n"
      "ranks of step 7, us; predictions are scaled by 2.500 to tell who is late\n"
      "rank       predicted  forward  backward  waited  late\n"
      "dp 0 cp 1        2.0      3.0       4.0     0.5   2.0\n"
      "dp 0 cp 0        2.0      2.0       3.0     2.5   0.0\n"
      "\n"
      "latest in 2 of 2 steps: dp 0 cp 1, by 2.5 us a step\n");
}

TEST(LatencyReportTest, SaysWhereNothingWasReportedAndNobodyWasLate) {
  EXPECT_EQ(LatencyText({}),
            "no rank has reported of the attention of the last steps\n");
  EXPECT_EQ(
      LatencyText(Latency("steps { step: 3 ranks: 4 }")),
      "step  ranks  us  even  packing  cp sharding  communication  machine  latest\n"
      "   3    0/4\n");
  const std::string even = LatencyText(
      Latency("steps { step: 3 ranks: 1 ranks_reported: 1 excess { scale: 1 } }"));
  EXPECT_EQ(even.find("latest in"), std::string::npos);
}

TEST(LatencyReportTest, SaysByHowMuchTheCostsAreOff) {
  EXPECT_EQ(LatencyText(Latency(R"(
      calibration { applied { attention: 1.25 linear: 1 }
                    measured { attention: 1.99812 linear: 1.0021 }
                    suggested { attention: 1.5625 linear: 1 }
                    observations: 400 separable: true calibrations: 1 })")),
            "no rank has reported of the attention of the last steps\n"
            "\n"
            "costs are multiplied by  attention  linear\n"
            "applied                     1.2500  1.0000\n"
            "measured                    1.9981  1.0021\n"
            "suggested                   1.5625  1.0000\n"
            "from 400 micro-batches\n"
            "set by the server 1 times\n");
  EXPECT_NE(LatencyText(Latency(R"(
      calibration { applied { attention: 1 linear: 1 }
                    measured { attention: 1 linear: 1 }
                    suggested { attention: 1 linear: 1 } observations: 32 })"))
                .find("from 32 micro-batches, which don't tell the two apart: one "
                      "factor for both\n"),
            std::string::npos);
  EXPECT_EQ(LatencyText(Latency(R"(
      calibration { applied { attention: 1 linear: 1 } observations: 31 })")),
            "no rank has reported of the attention of the last steps\n"
            "\n31 micro-batches were measured, too few to hold against the job's "
            "costs\n");
}

TEST(LatencyReportTest, TheJsonIsTheMessage) {
  const nlohmann::json json = nlohmann::json::parse(LatencyJson(ThreeSteps()));
  EXPECT_EQ(json["steps"][1]["excess"]["cp_sharding_ns"], 2000);
  EXPECT_EQ(json["steps"][1]["rank_latencies"][0]["late_ns"], 2000);
  EXPECT_FALSE(json["steps"][2].contains("excess"));
}

}  // namespace
}  // namespace evenpack
