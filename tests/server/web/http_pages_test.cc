#include "server/web/http_pages.h"

#include <gtest/gtest.h>

#include <string>

namespace evenpack {
namespace {

HttpPages TwoPages() {
  HttpPages pages;
  pages.Add({"/a", "the first", []() -> HttpResponse { return {201, "text/a", "A"}; }});
  pages.Add({"/long", "the second", []() -> HttpResponse { return {}; }});
  return pages;
}

TEST(HttpPagesTest, APathIsAnsweredByItsPage) {
  const HttpResponse response = TwoPages().Answer("/a");
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(response.content_type, "text/a");
  EXPECT_EQ(response.body, "A");
}

TEST(HttpPagesTest, TheRootListsThePages) {
  const HttpResponse response = TwoPages().Answer("/");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "text/plain; charset=utf-8");
  EXPECT_EQ(response.body,
            "/a     the first\n"
            "/long  the second\n");
}

TEST(HttpPagesTest, TheListHasAPathOfItsOwn) {
  EXPECT_EQ(TwoPages().Answer("/pages").body, TwoPages().Answer("/").body);
}

TEST(HttpPagesTest, AFolderIsFoundForItsPathAndThoseBelow) {
  HttpPages pages = TwoPages();
  pages.AddFolder({"/f/g", "the third", nullptr});
  for (const std::string path : {"/f/g", "/f/g/", "/f/g/x/y"}) {
    ASSERT_NE(pages.FindFolder(path), nullptr) << path;
    EXPECT_EQ(pages.FindFolder(path)->path, "/f/g");
  }
  for (const std::string path : {"", "/", "/f", "/f/", "/f/gx", "/a"}) {
    EXPECT_EQ(pages.FindFolder(path), nullptr) << path;
  }
  EXPECT_EQ(pages.Answer("/pages").body,
            "/a     the first\n"
            "/long  the second\n"
            "/f/g   the third\n");
}

TEST(HttpPagesTest, ThePageOfTheRootReplacesTheList) {
  HttpPages pages = TwoPages();
  pages.Add({"/", "home", []() -> HttpResponse { return {200, "text/html", "<p>"}; }});
  EXPECT_EQ(pages.Answer("/").body, "<p>");
  EXPECT_EQ(pages.Answer("/pages").status, 200);
}

TEST(HttpPagesTest, OtherPathsAreNotFound) {
  for (const std::string path : {"", "/A", "/a/", "/ab", "a", "//"}) {
    const HttpResponse response = TwoPages().Answer(path);
    EXPECT_EQ(response.status, 404) << path;
    EXPECT_EQ(response.body, "no such page; /pages lists those that there are\n");
  }
}

}  // namespace
}  // namespace evenpack
