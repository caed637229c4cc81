#include "client/cpp/connection_cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

// With the messages of the gRPC that is linked: secured_channel_test.cc.
namespace evenpack::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string NotConnected(const std::string& why) {
  return "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.1:7: " +
         why;
}

TEST(ConnectionCause, NamesWhatRefusedAHandshakeInTheWordsOfEitherLibrary) {
  const struct {
    const char* why;
    const char* cause;
  } rows[] = {
      {"Tls handshake failed: SSL_ERROR_SSL: error:0A000086:SSL routines::certificate "
       "verify failed",
       "out of date"},
      {"Tls handshake failed (TSI_PROTOCOL_FAILURE): SSL_ERROR_SSL: error:1000007d:SSL "
       "routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED: certificate has expired",
       "out of date"},
      {"Custom verification check failed with error: UNAUTHENTICATED: Hostname "
       "Verification Check failed.",
       "another name"},
      {"Tls handshake failed: SSL_ERROR_SSL: error:0A00010B:SSL routines::wrong "
       "version "
       "number",
       "speaks no TLS"},
      {"SSL routines:OPENSSL_internal:WRONG_VERSION_NUMBER", "speaks no TLS"},
      {"Failed to create security handshaker", "key may be of another certificate"},
  };
  for (const auto& row : rows) {
    EXPECT_TRUE(IsHandshakeRefusal(NotConnected(row.why))) << row.why;
    EXPECT_THAT(std::string(ConnectionCause(NotConnected(row.why))),
                HasSubstr(row.cause));
  }
}

TEST(ConnectionCause, OnlyGuessesAtAConnectionThatWasClosed) {
  for (const char* const why : {"Socket closed", "Handshake read failed"}) {
    EXPECT_FALSE(IsHandshakeRefusal(NotConnected(why))) << why;
    EXPECT_THAT(std::string(ConnectionCause(NotConnected(why))),
                AllOf(HasSubstr("may want TLS"), HasSubstr("no more connections")));
  }
}

TEST(ConnectionCause, GuessesAtAFirewallWhereNothingAnswers) {
  const std::string message = NotConnected("tcp handshaker shutdown");
  EXPECT_FALSE(IsHandshakeRefusal(message));
  EXPECT_THAT(std::string(ConnectionCause(message)),
              HasSubstr("a firewall may drop it"));
}

TEST(ConnectionCause, IsNotSaidTwice) {
  const std::string message = NotConnected("Socket closed");
  const std::string said = message + std::string(ConnectionCause(message));
  EXPECT_EQ(std::string(ConnectionCause(said)), "");
}

TEST(ConnectionCause, IsSilentAboutAllElse) {
  for (const std::string& message :
       {NotConnected("Failed to connect to remote host: Connection refused"),
        std::string("Socket closed"), std::string("job: 'certificate verify failed'"),
        std::string()}) {
    EXPECT_FALSE(IsHandshakeRefusal(message)) << message;
    EXPECT_EQ(std::string(ConnectionCause(message)), "") << message;
  }
}

}  // namespace
}  // namespace evenpack::client
