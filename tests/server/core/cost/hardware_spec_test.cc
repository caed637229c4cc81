#include "server/core/cost/hardware_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tests/server/core/cost/refused_field.h"

namespace evenpack {
namespace {

TEST(NamedHardware, IsValidAndFoundInAnyCase) {
  EXPECT_THAT(HardwareNames(), ::testing::ElementsAre("H100", "H200"));
  for (const char* name : {"H100", "h100", "H200", "h200"}) {
    const auto hardware = NamedHardware(name);
    ASSERT_TRUE(hardware.ok()) << hardware.status();
    EXPECT_TRUE(Validate(*hardware).ok()) << Validate(*hardware);
    EXPECT_EQ(hardware->peak_flops, 989e12);
    EXPECT_EQ(hardware->multiprocessors, 132u);
  }
  EXPECT_EQ(NamedHardware("h200")->name, "H200");
}

// 716 TFLOPS asymptote at 0.75 to 0.87 for packed documents; a linear part below a
// bare matrix product's 790 TFLOPS.
TEST(NamedHardware, ReachesThroughputsThatWereMeasured) {
  const HardwareSpec hardware = *NamedHardware("H200");
  const double attention = hardware.peak_flops * hardware.attention_fraction;
  EXPECT_GE(attention, 716e12 * 0.75);
  EXPECT_LE(attention, 716e12 * 0.87);
  EXPECT_LT(hardware.peak_flops * hardware.linear_fraction, 790e12);
}

TEST(NamedHardware, ListsTheAcceptedNamesWhereOneIsUnknown) {
  EXPECT_THAT(NamedHardware("A100"), RefusesField("hardware", "A100", "H100, H200"));
}

TEST(ValidateHardware, NamesTheFieldTheValueAndWhatIsAccepted) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const struct {
    std::function<void(HardwareSpec&)> spoil;
    const char* field;
    const char* value;
    const char* accepted;
  } cases[] = {
      {[](HardwareSpec& h) { h.peak_flops = 0; }, "hardware.peak_flops", "0",
       "1e9 to 1e18"},
      {[](HardwareSpec& h) { h.peak_flops = 2e18; }, "hardware.peak_flops", "2e+18",
       "1e9 to 1e18"},
      {[nan](HardwareSpec& h) { h.peak_flops = nan; }, "hardware.peak_flops", "nan",
       "1e9 to 1e18"},
      {[](HardwareSpec& h) { h.linear_fraction = 0; }, "hardware.linear_fraction", "0",
       "above 0, at most 1"},
      {[](HardwareSpec& h) { h.linear_fraction = 1.5; }, "hardware.linear_fraction",
       "1.5", "above 0, at most 1"},
      {[nan](HardwareSpec& h) { h.attention_fraction = nan; },
       "hardware.attention_fraction", "nan", "above 0, at most 1"},
      {[](HardwareSpec& h) { h.attention_fraction = -0.5; },
       "hardware.attention_fraction", "-0.5", "above 0, at most 1"},
      {[](HardwareSpec& h) { h.multiprocessors = 0; }, "hardware.multiprocessors", "0",
       "1 to 65535"},
      {[](HardwareSpec& h) { h.multiprocessors = 65'536; }, "hardware.multiprocessors",
       "65536", "1 to 65535"},
  };
  for (const auto& refused : cases) {
    HardwareSpec hardware = *NamedHardware("H100");
    refused.spoil(hardware);
    EXPECT_THAT(Validate(hardware),
                RefusesField(refused.field, refused.value, refused.accepted));
  }
}

}  // namespace
}  // namespace evenpack
