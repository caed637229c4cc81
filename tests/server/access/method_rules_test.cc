#include "server/access/method_rules.h"

#include <gtest/gtest.h>

#include <string>

namespace evenpack {
namespace {

// That they are those of the API, tests/server/service/admission_test.cc says.
TEST(MethodRulesTest, AreFoundByTheirMethodAlone) {
  EXPECT_FALSE(MethodRules().empty());
  for (const MethodRule& rule : MethodRules()) {
    EXPECT_EQ(FindMethodRule(rule.method), &rule);
    EXPECT_EQ(FindMethodRule(std::string(rule.method) + "s"), nullptr);
  }
  EXPECT_EQ(FindMethodRule(""), nullptr);
  EXPECT_EQ(FindMethodRule("ZzZ"), nullptr);
}

TEST(MethodRulesTest, NameJobsWhereTheyAreAboutThem) {
  for (const MethodRule& rule : MethodRules()) {
    EXPECT_EQ(rule.scope == JobScope::kNamed, !rule.job_fields[0].empty())
        << rule.method;
  }
}

}  // namespace
}  // namespace evenpack
