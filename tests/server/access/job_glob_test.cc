#include "server/access/job_glob.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace evenpack {
namespace {

// By definition, one character at a time.
bool MatchesByDefinition(std::string_view glob, std::string_view name) {
  if (glob.empty()) return name.empty();
  if (glob[0] == '*') {
    return MatchesByDefinition(glob.substr(1), name) ||
           (!name.empty() && MatchesByDefinition(glob, name.substr(1)));
  }
  return !name.empty() && (glob[0] == '?' || glob[0] == name[0]) &&
         MatchesByDefinition(glob.substr(1), name.substr(1));
}

TEST(JobGlobTest, StarIsAnyTextAndQuestionMarkAnyCharacter) {
  struct Row {
    const char* glob;
    const char* name;
    bool matches;
  };
  for (const Row& row : {Row{"*", "run-7", true},
                         {"*", "", true},
                         {"run-7", "run-7", true},
                         {"run-7", "run-70", false},
                         {"run-*", "run-", true},
                         {"run-*", "rerun-1", false},
                         {"*-7", "run-7", true},
                         {"run-?", "run-7", true},
                         {"run-?", "run-", false},
                         {"a*b*c", "abbc", true},
                         {"a*b*c", "acb", false},
                         {"A", "a", false},
                         {"", "", true},
                         {"", "a", false},
                         {"a.c", "abc", false}}) {
    EXPECT_EQ(MatchesGlob(row.glob, row.name), row.matches)
        << row.glob << " " << row.name;
  }
}

TEST(JobGlobTest, MatchesAsItsDefinitionDoes) {
  std::mt19937 random(7);
  const auto drawn = [&random](const std::string& letters, size_t most) {
    std::string text(random() % (most + 1), ' ');
    for (char& c : text) c = letters[random() % letters.size()];
    return text;
  };
  for (int i = 0; i < 20'000; ++i) {
    const std::string glob = drawn("ab*?", 7);
    const std::string name = drawn("ab", 8);
    EXPECT_EQ(MatchesGlob(glob, name), MatchesByDefinition(glob, name))
        << glob << " " << name;
  }
}

TEST(JobGlobTest, ManyStarsTakeNoLongTime) {
  std::string glob;
  for (int i = 0; i < 60; ++i) glob += "*a";
  EXPECT_FALSE(MatchesGlob(glob + "b", std::string(100'000, 'a')));
}

TEST(JobGlobTest, IsOfWhatTheNamesOfJobsHave) {
  for (const std::string& text :
       {std::string("*"), std::string("a.b_c-D?9*"), std::string(128, 'a')}) {
    EXPECT_TRUE(IsJobGlob(text)) << text;
  }
  for (const std::string& text :
       {std::string(), std::string("a b"), std::string("a/b"), std::string("[ab]"),
        std::string("a\n"), std::string("\xc3\xa4"), std::string(129, 'a')}) {
    EXPECT_FALSE(IsJobGlob(text)) << text;
  }
}

}  // namespace
}  // namespace evenpack
