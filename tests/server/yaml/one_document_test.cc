#include "server/yaml/one_document.h"

#include <gtest/gtest.h>

#include <string>

namespace evenpack {
namespace {

// "LINE: message" of what is thrown; "" where nothing is.
std::string Refusal(const std::string& text) {
  try {
    LoadOneDocument(text);
  } catch (const YAML::Exception& error) {
    return std::to_string(error.mark.line + 1) + ": " + error.msg;
  }
  return "";
}

TEST(OneDocumentTest, TheOneIsRead) {
  for (const char* text :
       {"a: b\n", "---\na: b\n", "a: b\n...\n", "---\na: b\n...\n",
        "%YAML 1.2\n---\na: b\n", "a: b\n# c\n", "\n\na: b", "a: b\n...\n# c\n\n"}) {
    EXPECT_EQ(Refusal(text), "") << text;
    EXPECT_EQ(LoadOneDocument(text)["a"].Scalar(), "b") << text;
  }
}

TEST(OneDocumentTest, NoneIsNull) {
  for (const char* text : {"", "\n", "# c\n", "---\n"}) {
    EXPECT_EQ(Refusal(text), "") << text;
    EXPECT_TRUE(LoadOneDocument(text).IsNull()) << text;
  }
}

TEST(OneDocumentTest, ASecondOneIsRefusedWhereItBegins) {
  for (const char* text :
       {"a: 1\n---\nb: 2\n", "a: 1\n---\n", "a: 1\n---\na: 1\n---\na: 1\n",
        "a: 1\n--- # c\n- b\n", "---\n---\na: 1\n"}) {
    EXPECT_EQ(Refusal(text), "2: a second document; accepted: one") << text;
  }
  EXPECT_EQ(Refusal("a: 1\n...\n---\nb: 2\n"), "3: a second document; accepted: one");
}

TEST(OneDocumentTest, WhatIsBrokenBehindTheFirstIsRefused) {
  for (const char* text : {"a: 1\n---\nb: [\n", "{a: 1}\n}\n", "a: 1\n...\n]\n", "[]]",
                           "a: 1\n---\n\tb: 1\n", "--- {}\n}{}{\n"}) {
    EXPECT_NE(Refusal(text), "") << text;
  }
}

TEST(OneDocumentTest, DocumentsWithoutEndAreRefused) {
  std::string many = "a: 1\n";
  for (int i = 0; i < 10'000; ++i) many += "---\n";
  EXPECT_EQ(Refusal(many), "2: a second document; accepted: one");
  EXPECT_NE(Refusal(std::string(10'000, '}')), "");
  EXPECT_NE(Refusal(std::string(10'000, '[')), "");
}

}  // namespace
}  // namespace evenpack
