#include "server/web/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/web/raw_client.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::RawClient;
using testing::RawGet;
using testing::StatusIs;

HttpPage PageWith(std::string path, std::string body) {
  return {std::move(path), "a page", [body = std::move(body)]() -> HttpResponse {
            return {200, std::string(kPlainText), body};
          }};
}

std::unique_ptr<HttpServer> StartWith(HttpPage page, HttpServerOptions options = {}) {
  HttpPages pages;
  pages.Add(std::move(page));
  absl::StatusOr<std::unique_ptr<HttpServer>> server =
      HttpServer::Start("127.0.0.1:0", std::move(pages), options);
  EXPECT_THAT(server, IsOk());
  return *std::move(server);
}

httplib::Client ClientOf(const HttpServer& server) {
  return httplib::Client("127.0.0.1", server.port());
}

TEST(HttpServerTest, ServesAtThePortThatItNames) {
  const auto server = StartWith(PageWith("/a", "hello\n"));
  EXPECT_NE(server->port(), 0);
  EXPECT_EQ(server->address(), "127.0.0.1:" + std::to_string(server->port()));
  const httplib::Result result = ClientOf(*server).Get("/a");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200);
  EXPECT_EQ(result->get_header_value("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(result->body, "hello\n");
}

TEST(HttpServerTest, APageFromElsewhereDoesNotReadALoopbackPort) {
  const httplib::Headers foreign = {{"Host", "example.com"}};
  const auto local = StartWith(PageWith("/a", "hello\n"));
  EXPECT_EQ(ClientOf(*local).Get("/a", foreign)->status, 421);
  HttpPages pages;
  pages.Add(PageWith("/a", "hello\n"));
  const auto open = HttpServer::Start("0.0.0.0:0", std::move(pages));
  ASSERT_THAT(open, IsOk());
  EXPECT_EQ(ClientOf(**open).Get("/a", foreign)->status, 200);
}

TEST(HttpServerTest, HeadIsAnsweredWithoutABody) {
  const auto server = StartWith(PageWith("/a", "hello\n"));
  const httplib::Result result = ClientOf(*server).Head("/a");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200);
  EXPECT_EQ(result->get_header_value("Content-Length"), "6");
  EXPECT_EQ(result->body, "");
}

TEST(HttpServerTest, AnUnknownPathIs404AndAPost405) {
  const auto server = StartWith(PageWith("/a", "hello\n"));
  EXPECT_EQ(ClientOf(*server).Get("/b")->status, 404);
  EXPECT_EQ(ClientOf(*server).Post("/a", std::string(100'000, 'x'), "text/x")->status,
            405);
}

TEST(HttpServerTest, ARequestThatIsTooLongIs400) {
  const auto server = StartWith(PageWith("/a", "hello\n"));
  const RawClient client(server->port());
  client.Send("GET /a HTTP/1.1\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n");
  EXPECT_THAT(client.ReceiveAll(), HasSubstr("HTTP/1.1 400 Bad Request\r\n"));
}

TEST(HttpServerTest, IPv6IsServedInBrackets) {
  HttpPages pages;
  pages.Add(PageWith("/a", "hello\n"));
  const auto server = HttpServer::Start("[::1]:0", std::move(pages));
  if (server.status().code() == absl::StatusCode::kFailedPrecondition) {
    GTEST_SKIP() << "no IPv6 here: " << server.status();
  }
  ASSERT_THAT(server, IsOk());
  EXPECT_EQ((*server)->address(), "[::1]:" + std::to_string((*server)->port()));
  const httplib::Result result = httplib::Client("::1", (*server)->port()).Get("/a");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->body, "hello\n");
}

TEST(HttpServerTest, AnyAddressIsServedOverIPv4AndIPv6) {
  if (!HttpServer::Start("[::1]:0", HttpPages()).ok()) GTEST_SKIP() << "no IPv6 here";
  for (const char* listen : {"0.0.0.0:0", "*:0", "[::]:0"}) {
    HttpPages pages;
    pages.Add(PageWith("/a", "hello\n"));
    const auto server = HttpServer::Start(listen, std::move(pages));
    ASSERT_THAT(server, IsOk());
    for (const char* host : {"127.0.0.1", "::1"}) {
      EXPECT_TRUE(httplib::Client(host, (*server)->port()).Get("/a"))
          << listen << " by " << host;
    }
  }
}

TEST(HttpServerTest, ManyScrapesAtOnceGetLargePagesWhole) {
  const std::string body(1 << 20, 'b');
  const auto server = StartWith(PageWith("/a", body));
  std::atomic<int> whole = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 16; ++i) {
    clients.emplace_back([&] {
      for (int j = 0; j < 5; ++j) {
        const httplib::Result result = ClientOf(*server).Get("/a");
        if (result && result->body == body) ++whole;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(whole, 16 * 5);
}

TEST(HttpServerTest, ConnectionsThatSayNothingBlockNobody) {
  HttpServerOptions options;
  options.max_connections = 64;
  const auto server = StartWith(PageWith("/a", "hello\n"), options);
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 300; ++i) {
    idle.push_back(std::make_unique<RawClient>(server->port()));
    ASSERT_TRUE(idle.back()->connected());
    if (i % 2 == 0) idle.back()->Send("GET /a HTTP/1.1\r\nX: ");
  }
  EXPECT_THAT(RawGet(server->port(), "/a"), EndsWith("\r\n\r\nhello\n"));
}

TEST(HttpServerTest, ClientsThatDoNotReadBlockNobody) {
  const std::string body(16 << 20, 'b');
  HttpServerOptions options;
  options.handler_threads = 2;
  const auto server = StartWith(PageWith("/a", body), options);
  std::vector<std::unique_ptr<RawClient>> deaf;
  for (int i = 0; i < 8; ++i) {
    deaf.push_back(std::make_unique<RawClient>(server->port()));
    deaf.back()->Send("GET /a HTTP/1.1\r\n\r\n");
    ASSERT_EQ(deaf.back()->Receive(4), "HTTP");
  }
  EXPECT_THAT(RawGet(server->port(), "/"), EndsWith("/a  a page\n"));
}

TEST(HttpServerTest, AConnectionThatSaysNothingIsClosedInTheEnd) {
  testing::FakeClock clock;
  HttpServerOptions options;
  options.clock = &clock;
  const auto server = StartWith(PageWith("/a", "hello\n"), options);
  const RawClient idle(server->port());
  RawGet(server->port(), "/a");
  clock.Advance(options.request_timeout);
  RawGet(server->port(), "/a");
  EXPECT_EQ(idle.ReceiveAll(), "");
}

TEST(HttpServerTest, HandlersRunOnAsManyThreadsAsAreGiven) {
  std::latch all_there(3);
  HttpServerOptions options;
  options.handler_threads = 3;
  const auto server = StartWith({"/meet", "a page",
                                 [&all_there]() -> HttpResponse {
                                   all_there.arrive_and_wait();
                                   return {};
                                 }},
                                options);
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back([&] { RawGet(server->port(), "/meet"); });
  }
  for (std::thread& client : clients) client.join();
}

TEST(HttpServerTest, StopLetsARequestEndAndTakesNoOther) {
  std::latch entered(1);
  std::latch leave(1);
  const auto server = StartWith({"/slow", "a page", [&]() -> HttpResponse {
                                   entered.count_down();
                                   leave.wait();
                                   return {200, std::string(kPlainText), "in time\n"};
                                 }});
  const uint16_t port = server->port();
  std::string answer;
  std::thread client([&] { answer = RawGet(port, "/slow"); });
  entered.wait();
  std::thread stopper([&] { server->Stop(); });
  while (RawClient(port).connected()) std::this_thread::yield();
  leave.count_down();
  client.join();
  stopper.join();
  EXPECT_THAT(answer, EndsWith("\r\n\r\nin time\n"));
}

TEST(HttpServerTest, APortIsFreeAgainAfterStop) {
  const auto first = StartWith(PageWith("/a", "first\n"));
  RawGet(first->port(), "/a");
  first->Stop();
  first->Stop();
  EXPECT_FALSE(RawClient(first->port()).connected());
  HttpPages pages;
  pages.Add(PageWith("/a", "second\n"));
  const auto second = HttpServer::Start(first->address(), std::move(pages));
  ASSERT_THAT(second, IsOk());
  EXPECT_THAT(RawGet((*second)->port(), "/a"), EndsWith("\r\n\r\nsecond\n"));
}

TEST(HttpServerTest, APortThatIsTakenIsNotSharedButNamed) {
  const auto first = StartWith(PageWith("/a", "hello\n"));
  EXPECT_THAT(HttpServer::Start(first->address(), HttpPages()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("http-listen: can't listen on " + first->address())));
}

TEST(HttpServerTest, AnAddressThatIsNoneIsRefused) {
  EXPECT_THAT(HttpServer::Start("9090", HttpPages()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("http-listen: '9090' is not accepted")));
}

}  // namespace
}  // namespace evenpack
