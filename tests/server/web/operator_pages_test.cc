#include "server/web/operator_pages.h"

#include <gtest/gtest.h>

#include <string>

namespace evenpack {
namespace {

std::string Text() { return "x 1\n"; }
bool Always() { return true; }

TEST(OperatorPagesTest, MetricsAreInPrometheusTextFormat) {
  const HttpResponse response = OperatorPages(Text, Always).Answer("/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(response.body, "x 1\n");
}

TEST(OperatorPagesTest, MetricsAreThoseOfTheMoment) {
  int scrapes = 0;
  const HttpPages pages =
      OperatorPages([&scrapes] { return std::to_string(++scrapes); }, Always);
  EXPECT_EQ(pages.Answer("/metrics").body, "1");
  EXPECT_EQ(pages.Answer("/metrics").body, "2");
}

TEST(OperatorPagesTest, ReadinessFollowsTheServerAndHealthDoesNot) {
  bool ready = false;
  const HttpPages pages = OperatorPages(Text, [&ready] { return ready; });
  EXPECT_EQ(pages.Answer("/readyz").status, 503);
  EXPECT_EQ(pages.Answer("/readyz").body, "not ready\n");
  EXPECT_EQ(pages.Answer("/healthz").status, 200);
  ready = true;
  EXPECT_EQ(pages.Answer("/readyz").status, 200);
  EXPECT_EQ(pages.Answer("/readyz").body, "ready\n");
  EXPECT_EQ(pages.Answer("/healthz").body, "ok\n");
}

TEST(OperatorPagesTest, TheRootNamesThem) {
  EXPECT_EQ(OperatorPages(Text, Always).Answer("/").body,
            "/metrics  figures for Prometheus\n"
            "/healthz  200 while the server runs\n"
            "/readyz   200 while it takes calls, 503 while it starts or drains\n");
}

}  // namespace
}  // namespace evenpack
