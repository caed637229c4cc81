#include "server/core/cost/named_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/core/cost/refused_field.h"

namespace evenpack {
namespace {

ModelSpec Named(absl::string_view name) {
  auto model = NamedModel(name);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *model : ModelSpec();
}

TEST(NamedModels, AreAllValidAndKnowTheirName) {
  EXPECT_THAT(ModelNames(), ::testing::ElementsAre("550M", "7B", "30B", "70B", "405B"));
  for (const absl::string_view name : ModelNames()) {
    const ModelSpec model = Named(name);
    EXPECT_EQ(model.name, std::string(name));
    EXPECT_TRUE(Validate(model).ok()) << Validate(model);
  }
}

TEST(NamedModels, HaveTheParametersTheirNameSays) {
  const std::map<std::string, double> named = {
      {"550M", 550e6}, {"7B", 7e9}, {"30B", 30e9}, {"70B", 70e9}, {"405B", 405e9}};
  for (const auto& [name, parameters] : named) {
    EXPECT_NEAR(ParameterCount(Named(name)) / parameters, 1.0, 0.10) << name;
  }
}

// To the published counts of the models that the names stand for, in billions.
TEST(NamedModels, HaveTheParametersOfThePublishedModels) {
  const std::map<std::string, double> published = {
      {"7B", 6.74}, {"30B", 32.53}, {"70B", 70.55}, {"405B", 405.85}};
  for (const auto& [name, billions] : published) {
    EXPECT_NEAR(ParameterCount(Named(name)) / 1e9, billions, 0.01) << name;
  }
}

TEST(NamedModels, AreFoundInAnyCase) {
  EXPECT_EQ(Named("7b"), Named("7B"));
  EXPECT_EQ(Named("550m"), Named("550M"));
}

TEST(NamedModels, ListTheAcceptedNamesWhereOneIsUnknown) {
  EXPECT_THAT(NamedModel("8B"),
              RefusesField("model", "8B", "550M, 7B, 30B, 70B, 405B"));
  EXPECT_THAT(NamedModel(""), RefusesField("model", "", "550M, 7B, 30B, 70B, 405B"));
}

}  // namespace
}  // namespace evenpack
