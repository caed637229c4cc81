// The default of the kernel table against attention measured on H100:
// deploy/data/profiles/compute-attn-H100.psv, whose README says where it comes from.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "server/core/cost/hardware_spec.h"
#include "server/core/cost/kernel_latency_table.h"
#include "server/core/cost/model_spec.h"
#include "tests/testing/source_file.h"

namespace evenpack {
namespace {

struct Measurement {
  uint32_t total_tokens = 0;
  uint32_t documents = 0;
  uint32_t tensor_parallel = 0;
  uint32_t context_parallel = 0;
  double total_ms = 0;  // one launch over all documents

  uint32_t length() const { return total_tokens / documents; }
};

uint32_t Number(absl::string_view text) {
  uint32_t value = 0;
  EXPECT_TRUE(absl::SimpleAtoi(text, &value)) << text;
  return value;
}

std::vector<Measurement> ReadMeasurements() {
  std::ifstream file(testing::SourceFile("deploy/data/profiles/compute-attn-H100.psv"));
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line.rfind("gpu_type|op|total_len|batch_size|tp|cp|", 0), 0u) << line;
  std::vector<Measurement> measurements;
  while (std::getline(file, line)) {
    const std::vector<std::string> columns = absl::StrSplit(line, '|');
    EXPECT_GE(columns.size(), 8u) << line;
    Measurement row = {Number(columns[2]), Number(columns[3]), Number(columns[4]),
                       Number(columns[5])};
    EXPECT_TRUE(absl::SimpleAtod(columns[7], &row.total_ms)) << line;
    measurements.push_back(row);
  }
  return measurements;
}

// 64 query heads, 4 KV heads of 128, as measured; the rest does not matter here.
ModelSpec MeasuredModel() {
  ModelSpec model;
  model.layers = 1;
  model.hidden = 8192;
  model.query_heads = 64;
  model.kv_heads = 4;
  model.head_size = 128;
  model.ffn_size = 1;
  model.vocabulary = 1;
  return model;
}

// Predicted over measured time of each point without context parallelism whose
// documents have at least `least_length` tokens.
std::vector<double> Ratios(uint32_t least_length) {
  std::vector<double> ratios;
  for (const Measurement& row : ReadMeasurements()) {
    if (row.context_parallel != 1 || row.length() < least_length) continue;
    const auto table = KernelLatencyTable::FromTileModel(
        MeasuredModel(), *NamedHardware("H100"), row.tensor_parallel);
    EXPECT_TRUE(table.ok()) << table.status();
    const double predicted_ps =
        static_cast<double>(table->SlicePs(row.length(), row.length())) *
            row.documents +
        static_cast<double>(table->launch_ns()) * 1e3;
    ratios.push_back(predicted_ps / (row.total_ms * 1e9));
  }
  return ratios;
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle]
                                : (values[middle - 1] + values[middle]) / 2;
}

double MedianErrorAgainst(const std::vector<double>& ratios, double scale) {
  std::vector<double> errors;
  for (const double ratio : ratios) errors.push_back(std::abs(ratio / scale - 1));
  return Median(errors);
}

TEST(TileModelAgainstH100, FileHoldsAllPoints) {
  EXPECT_EQ(ReadMeasurements().size(), 176u);
  EXPECT_EQ(Ratios(256).size(), 32u);
}

// The median error is 0.299, most of it one of scale: the measured kernel tends to 355
// to 361 TFLOPS at 8K tokens and more, the default to 573.
TEST(TileModelAgainstH100, IsOptimisticByOneFactor) {
  const std::vector<double> ratios = Ratios(256);
  EXPECT_LT(MedianErrorAgainst(ratios, 1.0), 0.31);
  EXPECT_NEAR(Median(ratios), 0.70, 0.02);
  EXPECT_NEAR(Median(Ratios(8192)), 0.66, 0.03);
}

// That factor apart, 8% in the median (0.080) and 4% from 4K tokens on (0.038). What
// remains is a slope: short documents are overpriced against long ones.
TEST(TileModelAgainstH100, HasTheShapeOfTheMeasurements) {
  const std::vector<double> all = Ratios(256);
  EXPECT_LT(MedianErrorAgainst(all, Median(all)), 0.085);
  const std::vector<double> from_4k = Ratios(4096);
  EXPECT_LT(MedianErrorAgainst(from_4k, Median(from_4k)), 0.04);
}

}  // namespace
}  // namespace evenpack
