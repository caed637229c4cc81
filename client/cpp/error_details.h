// What the server says of an error beyond its code and message.
//
//   absl::StatusOr<v1::Job> job = client.CreateJob("run-7", spec);
//   if (!job.ok()) {
//     const ErrorDetails details = DetailsOf(job.status());
//     for (const FieldViolation& violation : details.field_violations) { ... }
//   }
#ifndef EVENPACK_CLIENT_CPP_ERROR_DETAILS_H_
#define EVENPACK_CLIENT_CPP_ERROR_DETAILS_H_

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace evenpack::client {

// A field of the request that was refused (google.rpc.BadRequest).
struct FieldViolation {
  std::string field;
  std::string description;

  friend bool operator==(const FieldViolation&, const FieldViolation&) = default;
};

// A bound that was reached (google.rpc.QuotaFailure).
struct QuotaViolation {
  std::string subject;
  std::string description;

  friend bool operator==(const QuotaViolation&, const QuotaViolation&) = default;
};

struct ErrorDetails {
  // google.rpc.ErrorInfo: the error's name, constant across versions, whose it is
  // ("evenpack"), and what it says by name. Empty where the error is not the server's:
  // made here, or by the network.
  std::string reason;
  std::string domain;
  std::map<std::string, std::string> metadata;
  std::vector<FieldViolation> field_violations;
  std::vector<QuotaViolation> quota_violations;
  // google.rpc.RetryInfo: trying again can help, but not earlier. As read, whole
  // seconds are from 0 to kLongestWait.
  std::optional<std::chrono::nanoseconds> retry_delay;

  friend bool operator==(const ErrorDetails&, const ErrorDetails&) = default;
};

// Empty details for a status that carries none. Details of other types stay readable as
// payloads of the status, under their type URL.
ErrorDetails DetailsOf(const absl::Status& status);

// `status` with `details` in it, for mocks that answer as the server does. `status` is
// not OK.
absl::Status WithDetails(absl::Status status, const ErrorDetails& details);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_ERROR_DETAILS_H_
