#include "server/tls/ssl_context.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <memory>

namespace evenpack {
namespace {

TEST(SslContextTest, ContextsOfLibrariesReleaseIdleBuffersAndKeepNoSessions) {
  LinkSslContexts();
  // What a library's call is bound to, gRPC's or libpq's.
  void* const bound = dlsym(RTLD_DEFAULT, "SSL_CTX_new");
  ASSERT_NE(bound, nullptr);
  const auto make = reinterpret_cast<decltype(&SSL_CTX_new)>(bound);
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(
      make(TLS_server_method()), SSL_CTX_free);
  ASSERT_NE(context, nullptr);
  EXPECT_NE(SSL_CTX_get_mode(context.get()) & SSL_MODE_RELEASE_BUFFERS, 0);
  EXPECT_NE(SSL_CTX_get_options(context.get()) & SSL_OP_NO_TICKET, 0U);
  EXPECT_EQ(SSL_CTX_get_num_tickets(context.get()), 0U);
  EXPECT_EQ(SSL_CTX_get_session_cache_mode(context.get()), SSL_SESS_CACHE_OFF);
}

}  // namespace
}  // namespace evenpack
