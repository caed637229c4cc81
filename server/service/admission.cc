#include "server/service/admission.h"

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "server/access/access_control.h"
#include "server/access/method_rules.h"
#include "server/service/peer.h"

namespace evenpack {
namespace {

constexpr absl::string_view kScheme = "Bearer ";
constexpr std::string_view kRequestSuffix = "Request";

std::vector<std::string> PropertiesOf(const grpc::AuthContext& context,
                                      const char* name) {
  std::vector<std::string> values;
  for (const grpc::string_ref& value : context.FindPropertyValues(name)) {
    values.emplace_back(value.data(), value.size());
  }
  return values;
}

std::vector<Subject> SubjectsOf(const grpc::AuthContext& context) {
  CertificateNames names;
  for (std::string& name : PropertiesOf(context, GRPC_X509_SUBJECT_PROPERTY_NAME)) {
    names.distinguished_name = std::move(name);
  }
  for (std::string& name : PropertiesOf(context, GRPC_X509_CN_PROPERTY_NAME)) {
    names.common_name = std::move(name);
  }
  names.uris = PropertiesOf(context, GRPC_PEER_URI_PROPERTY_NAME);
  names.dns_names = PropertiesOf(context, GRPC_PEER_DNS_PROPERTY_NAME);
  return SubjectsOf(names);
}

// The jobs that a request names, as its rule says. The fields are its own.
std::vector<std::string> JobsNamedBy(const google::protobuf::Message& request,
                                     const MethodRule& rule) {
  std::vector<std::string> jobs;
  const auto* const descriptor = request.GetDescriptor();
  for (const std::string_view path : rule.job_fields) {
    const auto* const field = descriptor->FindFieldByName(std::string(path));
    if (path.empty() || field == nullptr) break;
    jobs.push_back(request.GetReflection()->GetString(request, field));
  }
  return jobs;
}

}  // namespace

Caller CallerOf(const ServiceEnvironment& environment,
                const grpc::ServerContextBase& context) {
  if (environment.access == nullptr) return {};
  const auto [begin, end] = context.client_metadata().equal_range("authorization");
  std::vector<std::string_view> authorizations;
  for (auto field = begin; field != end; ++field) {
    authorizations.emplace_back(field->second.data(), field->second.size());
  }
  Caller caller = CallerOf(authorizations);
  const std::shared_ptr<const grpc::AuthContext> authenticated = context.auth_context();
  if (authenticated != nullptr) caller.subjects = SubjectsOf(*authenticated);
  return caller;
}

Caller CallerOf(std::span<const std::string_view> authorizations) {
  if (authorizations.empty()) return {};
  if (authorizations.size() > 1) return {{}, true, std::nullopt};
  const std::string_view authorization = authorizations.front();
  Caller caller;
  caller.authorized = !authorization.empty();
  const absl::string_view text(authorization.data(), authorization.size());
  if (absl::StartsWithIgnoreCase(text, kScheme)) {
    const absl::string_view token =
        absl::StripAsciiWhitespace(text.substr(kScheme.size()));
    if (!token.empty()) {
      caller.token = HashOfToken(std::string_view(token.data(), token.size()));
    }
  }
  return caller;
}

absl::Status Admit(const ServiceEnvironment& environment, const Caller& caller,
                   const google::protobuf::Message& request) {
  if (environment.access == nullptr) return absl::OkStatus();
  std::string_view method = request.GetDescriptor()->name();
  if (method.ends_with(kRequestSuffix)) method.remove_suffix(kRequestSuffix.size());
  const MethodRule* const rule = FindMethodRule(method);
  return environment.access->Decide(
      caller, method,
      rule == nullptr ? std::vector<std::string>() : JobsNamedBy(request, *rule));
}

JobFilter JobsSeenBy(const ServiceEnvironment& environment, const Caller& caller) {
  if (environment.access == nullptr) return nullptr;
  return environment.access->SeenBy(caller);
}

StreamAdmission::StreamAdmission(const ServiceEnvironment& environment,
                                 const grpc::ServerContextBase& context,
                                 const StreamKind& kind)
    : access_(environment.access),
      quotas_(environment.quotas.held),
      caller_(CallerOf(environment, context)),
      peer_(PeerOf(context, caller_)),
      kind_(kind) {}

absl::Status StreamAdmission::Open() {
  if (access_ != nullptr) {
    absl::Status status = access_->DecideToOpen(caller_, kind_.method);
    if (!status.ok()) return status;
  }
  return quotas_.Take(kind_.of_peer, peer_, peer_place_);
}

absl::Status StreamAdmission::Name(const std::string& job) {
  if (access_ == nullptr) return absl::OkStatus();
  {
    MutexLock lock(mutex_);
    job_ = job;
  }
  return access_->Decide(caller_, kind_.method, {job});
}

absl::Status StreamAdmission::Hold(const std::string& job) {
  return quotas_.Take(kind_.of_job, job, job_place_);
}

void StreamAdmission::GiveBack() {
  peer_place_.GiveBack();
  job_place_.GiveBack();
}

absl::Status StreamAdmission::Recheck() {
  std::string job;
  {
    MutexLock lock(mutex_);
    if (!job_.has_value()) return absl::OkStatus();
    job = *job_;
  }
  return access_->Decide(caller_, kind_.method, {job});
}

}  // namespace evenpack
