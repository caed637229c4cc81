#include "server/web/http_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

// Of an exchange whose folders answer at once.
std::string AnswerOf(const HttpExchange& exchange, const std::string& request) {
  std::string answer;
  exchange.Answer(request, [&answer](std::string sent) { answer = std::move(sent); });
  return answer;
}

std::string Answer(const std::string& request) {
  HttpPages pages;
  pages.Add({"/a", "a page", []() -> HttpResponse {
               return {200, "text/plain; version=0.0.4", "hello\n"};
             }});
  pages.Add({"/full", "a page", []() -> HttpResponse {
               return {503, "text/x", "no\n"};
             }});
  pages.Add({"/throws", "a page",
             []() -> HttpResponse { throw std::runtime_error("a secret"); }});
  return AnswerOf(HttpExchange(std::move(pages)), request);
}

TEST(HttpExchangeTest, AGetIsAnsweredWholeAndEndsTheConnection) {
  EXPECT_EQ(Answer("GET /a HTTP/1.1\r\nHost: x\r\n\r\n"),
            "HTTP/1.1 200 OK\r\n"
            "Cache-Control: no-store\r\n"
            "Connection: close\r\n"
            "Content-Length: 6\r\n"
            "Content-Type: text/plain; version=0.0.4\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "\r\n"
            "hello\n");
}

TEST(HttpExchangeTest, AHeadHasTheHeaderOfAGetAndNoBody) {
  const std::string answer = Answer("HEAD /a HTTP/1.1\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 6\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST(HttpExchangeTest, OnlyItsOwnHostsAreAnsweredWhereItKnowsThem) {
  HttpPages pages;
  pages.Add({"/a", "a page", [] { return HttpResponse{.body = "hello\n"}; }});
  pages.AddFolder(
      {"/folder", "a folder", [](const HttpRequest&, const HttpAnswer& answer) {
         answer({.body = "hello\n"});
       }});
  const HttpExchange exchange(std::move(pages), AcceptedHosts::kOwn);
  const auto answer = [&exchange](const std::string& path, const std::string& fields) {
    return AnswerOf(exchange, "GET " + path + " HTTP/1.1\r\n" + fields + "\r\n");
  };
  for (const char* path : {"/a", "/folder/b"}) {
    for (const char* fields : {"", "Host: localhost:7655\r\n", "host:127.0.0.1\r\n"}) {
      EXPECT_THAT(answer(path, fields), EndsWith("\r\n\r\nhello\n")) << fields;
    }
    for (const char* fields :
         {"Host: example.com\r\n", "Host: localhost\r\nHOST: example.com\r\n"}) {
      const std::string refused = answer(path, fields);
      EXPECT_THAT(refused, StartsWith("HTTP/1.1 421 "));
      EXPECT_THAT(refused,
                  EndsWith("\r\n\r\nHost: 'example.com' is not accepted by a "
                           "port on a loopback address; accepted: an IP address, "
                           "localhost, a name without dots\n"));
    }
  }
}

TEST(HttpExchangeTest, ThePagesStatusIsTheAnswers) {
  const std::string answer = Answer("GET /full HTTP/1.1\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nno\n"));
}

TEST(HttpExchangeTest, AQueryAndAnEscapedPathFindTheirPage) {
  for (const char* target : {"/a?x=1&y", "/%61", "/a#part"}) {
    EXPECT_THAT(Answer(std::string("GET ") + target + " HTTP/1.1\r\n\r\n"),
                StartsWith("HTTP/1.1 200 OK\r\n"))
        << target;
  }
}

TEST(HttpExchangeTest, AnUnknownPathIsNotFound) {
  EXPECT_THAT(Answer("GET /b HTTP/1.1\r\n\r\n"),
              StartsWith("HTTP/1.1 404 Not Found\r\n"));
}

TEST(HttpExchangeTest, OtherMethodsAreNotAllowed) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"}) {
    const std::string answer =
        Answer(std::string(method) + " /a HTTP/1.1\r\nContent-Length: 9\r\n\r\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 405 Method Not Allowed\r\n")) << method;
    EXPECT_THAT(answer, HasSubstr("\r\nAllow: GET, HEAD\r\n"));
  }
}

TEST(HttpExchangeTest, WhatIsNotHttpIsABadRequest) {
  for (const std::string& request :
       {std::string("hello\r\n\r\n"), std::string("\r\n\r\n"), std::string("\r\n"),
        std::string("GET /a\r\n\r\n"), std::string("GET /a HTTP/1.1\r\nX: cut of"),
        std::string("BREW /a HTTP/1.1\r\n\r\n"), std::string(8192, 'x'),
        std::string("\x16\x03\x01\x02\0\x01\0\x01\xfc\r\n\r\n", 13)}) {
    EXPECT_THAT(Answer(request), StartsWith("HTTP/1.1 400 Bad Request\r\n")) << request;
  }
}

TEST(HttpExchangeTest, ALongHeaderIsRead) {
  EXPECT_THAT(Answer("GET /a HTTP/1.1\r\nX: " + std::string(8000, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST(HttpExchangeTest, PartsOfAPageAreNotServed) {
  std::string ranges = "0-";
  for (int i = 0; i < 1000; ++i) ranges += ",0-";
  EXPECT_THAT(Answer("GET /a HTTP/1.1\r\nRange: bytes=" + ranges + "\r\n\r\n"),
              EndsWith("\r\n\r\nhello\n"));
}

TEST(HttpExchangeTest, PagesAreNotCompressed) {
  EXPECT_EQ(Answer("GET /a HTTP/1.1\r\nAccept-Encoding: gzip\r\n"
                   "accept-encoding: br\r\n\r\n"),
            Answer("GET /a HTTP/1.1\r\n\r\n"));
}

TEST(HttpExchangeTest, AHandlersExceptionIsAnInternalErrorThatTellsNothing) {
  const std::string answer = Answer("GET /throws HTTP/1.1\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 500 Internal Server Error\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\ninternal error\n"));
  EXPECT_THAT(answer, Not(HasSubstr("secret")));
}

TEST(HttpExchangeTest, AFolderIsToldPathAndQueryDecodedAndTheTagThatTheClientHas) {
  HttpPages pages;
  HttpRequest told;
  pages.AddFolder({"/f", "a folder", [&told](const HttpRequest& request, const auto&) {
                     told = request;
                   }});
  AnswerOf(HttpExchange(std::move(pages)),
           "GET /f/a%20b?x=1&y=%26&x=2&z HTTP/1.1\r\nIf-None-Match: \"t\"\r\n"
           "authorization: Bearer x\r\n\r\n");
  EXPECT_EQ(told.path, "/f/a b");
  EXPECT_THAT(told.query, ElementsAre(Pair("x", "1"), Pair("x", "2"), Pair("y", "&"),
                                      Pair("z", "")));
  EXPECT_EQ(told.if_none_match, "\"t\"");
  EXPECT_THAT(told.authorizations, ElementsAre("Bearer x"));
}

// The same texts as a call over gRPC has them: no escapes, and all that there are.
TEST(HttpExchangeTest, AuthorizationsAreToldAsTheyWereSent) {
  HttpPages pages;
  HttpRequest told;
  pages.AddFolder({"/f", "a folder", [&told](const HttpRequest& request, const auto&) {
                     told = request;
                   }});
  const HttpExchange exchange(std::move(pages));
  struct Row {
    const char* fields;
    std::vector<std::string> authorizations;
  };
  for (const Row& row :
       {Row{"Authorization: Bearer abc%41def\r\n", {"Bearer abc%41def"}},
        {"X: 1\r\nAUTHORIZATION:\t %6fp %u0041 \r\n", {"%6fp %u0041"}},
        {"Authorization: a%\r\nX: 1\r\nauthorization: b\r\n", {"a%", "b"}},
        {"Authorization:\r\nAuthorization: b\r\n", {"", "b"}},
        {"Authorization : a\r\nX: Authorization: b\r\n", {}},
        {"X: a\nAuthorization: b\r\n", {"b"}},
        {"\r\nAuthorization: body\r\n", {}},
        {"Authorization: \r\n", {""}}}) {
    told = {};
    AnswerOf(exchange, std::string("GET /f HTTP/1.1\r\n") + row.fields + "\r\n");
    EXPECT_EQ(told.authorizations, row.authorizations) << row.fields;
  }
}

TEST(HttpExchangeTest, AFolderAnswersLaterFromAnyThread) {
  HttpPages pages;
  HttpAnswer answer;
  pages.AddFolder({"/f", "a folder", [&answer](const HttpRequest&, HttpAnswer given) {
                     answer = std::move(given);
                   }});
  const HttpExchange exchange(std::move(pages));
  std::string sent;
  const auto send = [&sent](std::string text) { sent = std::move(text); };
  exchange.Answer("GET /f HTTP/1.1\r\n\r\n", send);
  EXPECT_EQ(sent, "");
  std::thread([&answer] { answer({404, "text/x", "none\n"}); }).join();
  EXPECT_THAT(sent, StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(sent, EndsWith("\r\n\r\nnone\n"));

  exchange.Answer("HEAD /f HTTP/1.1\r\n\r\n", send);
  answer({200, "text/x", "some\n"});
  EXPECT_THAT(sent, HasSubstr("\r\nContent-Length: 5\r\n"));
  EXPECT_THAT(sent, EndsWith("\r\n\r\n"));
}

TEST(HttpExchangeTest, AFolderIsNotAskedForWhatIsRefused) {
  HttpPages pages;
  pages.AddFolder(
      {"/f", "a folder", [](const HttpRequest&, const HttpAnswer&) { ADD_FAILURE(); }});
  const HttpExchange exchange(std::move(pages));
  EXPECT_THAT(AnswerOf(exchange, "POST /f HTTP/1.1\r\n\r\n"),
              StartsWith("HTTP/1.1 405 Method Not Allowed\r\n"));
  EXPECT_THAT(AnswerOf(exchange, "GET /f\r\n\r\n"),
              StartsWith("HTTP/1.1 400 Bad Request\r\n"));
}

TEST(HttpExchangeTest, AResponsesFieldsReplaceThoseOfEveryAnswer) {
  HttpPages pages;
  pages.Add({"/a", "a page", []() -> HttpResponse {
               return {200, "text/x", "", {{"Cache-Control", "no-cache"}, {"X", "1"}}};
             }});
  const std::string answer =
      AnswerOf(HttpExchange(std::move(pages)), "GET /a HTTP/1.1\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("\r\nCache-Control: no-cache\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nX: 1\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("no-store")));
}

TEST(HttpExchangeTest, AnswersManyAtOnce) {
  HttpPages pages;
  pages.Add({"/a", "a page", []() -> HttpResponse {
               return {200, std::string(kPlainText), std::string(10'000, 'x')};
             }});
  const HttpExchange exchange(std::move(pages));
  const std::string expected = AnswerOf(exchange, "GET /a HTTP/1.1\r\n\r\n");
  std::vector<std::thread> threads;
  std::vector<int> right(4, 0);
  for (int& count : right) {
    threads.emplace_back([&exchange, &expected, &count] {
      for (int i = 0; i < 100; ++i) {
        if (AnswerOf(exchange, "GET /a HTTP/1.1\r\n\r\n") == expected) ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, std::vector<int>(4, 100));
}

}  // namespace
}  // namespace evenpack
