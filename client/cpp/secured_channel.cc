#include "client/cpp/secured_channel.h"

#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/client_interceptor.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/connection_cause.h"
#include "client/cpp/local_address.h"
#include "client/cpp/token_source.h"

namespace evenpack::client {
namespace {

using grpc::experimental::ClientInterceptorFactoryInterface;
using grpc::experimental::ClientRpcInfo;
using grpc::experimental::FileWatcherCertificateProvider;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;

constexpr unsigned kRefreshSeconds = 1;

// What the calls of a channel share.
struct CallSecurity {
  // Null: calls have no token.
  std::unique_ptr<TokenSource> token;
  // Otherwise a refused handshake is one that an agent tells of.
  bool tls = false;
  std::shared_ptr<std::atomic<bool>> was_answered;
};

// That gRPC itself gives to calls which reach no server.
bool IsOfNoServer(grpc::StatusCode code) {
  return code == grpc::StatusCode::UNAVAILABLE || code == grpc::StatusCode::CANCELLED ||
         code == grpc::StatusCode::DEADLINE_EXCEEDED;
}

// Of one call.
class SecurityInterceptor final : public Interceptor {
 public:
  explicit SecurityInterceptor(std::shared_ptr<CallSecurity> shared)
      : shared_(std::move(shared)) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    using enum InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(PRE_SEND_INITIAL_METADATA)) {
      Authorize(*methods->GetSendInitialMetadata());
    }
    if (methods->QueryInterceptionHookPoint(POST_RECV_MESSAGE) &&
        methods->GetRecvMessage() != nullptr) {
      Answered();
    }
    if (methods->QueryInterceptionHookPoint(POST_RECV_STATUS)) {
      Judge(*methods->GetRecvStatus());
    }
    methods->Proceed();
  }

 private:
  void Authorize(std::multimap<std::string, std::string>& metadata) {
    if (shared_->token == nullptr) return;
    const std::string token = shared_->token->Current();
    if (!token.empty()) {
      metadata.emplace("authorization", absl::StrCat("Bearer ", token));
    }
  }

  void Judge(grpc::Status& status) {
    if (!IsOfNoServer(status.error_code())) return Answered();
    const bool refused = shared_->tls &&
                         status.error_code() == grpc::StatusCode::UNAVAILABLE &&
                         IsHandshakeRefusal(status.error_message());
    if (refused && !shared_->was_answered->load()) {
      status = {grpc::StatusCode::UNAUTHENTICATED, status.error_message()};
    }
  }

  // Of every message, so that it writes once.
  void Answered() {
    if (!shared_->was_answered->load(std::memory_order_relaxed)) {
      shared_->was_answered->store(true);
    }
  }

  const std::shared_ptr<CallSecurity> shared_;
};

class SecurityInterceptors final : public ClientInterceptorFactoryInterface {
 public:
  explicit SecurityInterceptors(std::shared_ptr<CallSecurity> shared)
      : shared_(std::move(shared)) {}

  Interceptor* CreateClientInterceptor(ClientRpcInfo* /*info*/) override {
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): gRPC's call owns it.
    return new SecurityInterceptor(shared_);
  }

 private:
  const std::shared_ptr<CallSecurity> shared_;
};

std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const Security& security) {
  if (!UsesTls(security)) return grpc::InsecureChannelCredentials();
  grpc::experimental::TlsChannelCredentialsOptions options;
  if (!security.ca_file.empty() || !security.certificate_file.empty()) {
    options.set_certificate_provider(std::make_shared<FileWatcherCertificateProvider>(
        security.key_file, security.certificate_file, security.ca_file,
        kRefreshSeconds));
  }
  if (!security.ca_file.empty()) options.watch_root_certs();
  if (!security.certificate_file.empty()) options.watch_identity_key_cert_pairs();
  return grpc::experimental::TlsCredentials(options);
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeSecuredChannel(const ClientOptions& options,
                                                  grpc::ChannelArguments arguments) {
  const Security& security = options.security;
  const auto calls = std::make_shared<CallSecurity>();
  calls->tls = UsesTls(security);
  calls->was_answered = options.was_answered;
  const bool may_tell = calls->tls || IsLocalAddress(options.address);
  if (!security.token_file.empty() && may_tell) {
    calls->token = std::make_unique<TokenSource>(security.token_file);
  }
  if (!security.server_name.empty()) {
    arguments.SetSslTargetNameOverride(security.server_name);
  }
  std::vector<std::unique_ptr<ClientInterceptorFactoryInterface>> interceptors;
  if (calls->tls || calls->token != nullptr) {
    interceptors.push_back(std::make_unique<SecurityInterceptors>(calls));
  }
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      options.address, CredentialsOf(security), arguments, std::move(interceptors));
}

}  // namespace evenpack::client
