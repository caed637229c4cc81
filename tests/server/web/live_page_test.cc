#include "server/web/live_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

namespace evenpack {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr unsigned char kIndex[] = {'<', 'p', '>'};
constexpr unsigned char kScript[] = {'0', 0, 0xff};
constexpr std::array<PageFile, 2> kFiles = {
    {{"a.js", "\"one\"", kScript}, {"index.html", "\"two\"", kIndex}}};

HttpResponse Ask(const HttpPages& pages, const HttpRequest& request) {
  HttpResponse response;
  const HttpFolder* const folder = pages.FindFolder(request.path);
  if (folder == nullptr) return pages.Answer(request.path);
  folder->handler(request, [&response](HttpResponse given) { response = given; });
  return response;
}

HttpPages TwoFiles() {
  HttpPages pages;
  AddLivePage(kFiles, pages);
  return pages;
}

TEST(LivePageTest, TheRootIsTheIndex) {
  const HttpResponse response = Ask(TwoFiles(), {"/"});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "text/html; charset=utf-8");
  EXPECT_EQ(response.body, "<p>");
  EXPECT_THAT(response.headers, Contains(Pair("Cache-Control", "no-cache")));
  EXPECT_THAT(response.headers, Contains(Pair("Content-Security-Policy",
                                              HasSubstr("default-src 'self'"))));
}

TEST(LivePageTest, AFileIsServedByteForByteUnderItsName) {
  const HttpResponse response = Ask(TwoFiles(), {"/page/a.js"});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "text/javascript; charset=utf-8");
  EXPECT_EQ(response.body, std::string("0\0\xff", 3));
  EXPECT_THAT(response.headers, Contains(Pair("ETag", "\"one\"")));
}

TEST(LivePageTest, AFileThatTheClientHasIsNotSentAgain) {
  const HttpResponse same = Ask(TwoFiles(), {"/page/a.js", {}, "\"one\""});
  EXPECT_EQ(same.status, 304);
  EXPECT_EQ(same.body, "");
  EXPECT_THAT(same.headers, Contains(Pair("ETag", "\"one\"")));
  EXPECT_EQ(Ask(TwoFiles(), {"/page/a.js", {}, "\"two\""}).status, 200);
}

TEST(LivePageTest, OtherNamesAreNotFound) {
  for (const std::string path : {"/page", "/page/", "/page/b.js", "/page/a.js/",
                                 "/page//a.js", "/page/../a.js"}) {
    EXPECT_EQ(Ask(TwoFiles(), {path}).status, 404) << path;
  }
}

TEST(LivePageTest, WithoutAnIndexTheRootListsThePages) {
  HttpPages pages;
  AddLivePage(std::span(kFiles).first(1), pages);
  EXPECT_THAT(Ask(pages, {"/"}).body, HasSubstr("/page"));
}

TEST(LivePageTest, TheProgramsFilesHaveAnIndexAndAreInOrder) {
  const auto files = PageFiles();
  EXPECT_TRUE(std::is_sorted(
      files.begin(), files.end(),
      [](const PageFile& a, const PageFile& b) { return a.name < b.name; }));
  HttpPages pages;
  AddLivePage(files, pages);
  EXPECT_THAT(Ask(pages, {"/"}).body, HasSubstr("<!doctype html>"));
  for (const PageFile& file : files) {
    const HttpResponse response = Ask(pages, {"/page/" + std::string(file.name)});
    EXPECT_EQ(response.body.size(), file.bytes.size()) << file.name;
    EXPECT_NE(response.content_type, "application/octet-stream") << file.name;
    EXPECT_EQ(file.entity_tag.size(), 18U) << file.name;
  }
}

}  // namespace
}  // namespace evenpack
