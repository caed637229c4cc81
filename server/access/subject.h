// The names by which a certificate says whose it is.
#ifndef EVENPACK_SERVER_ACCESS_SUBJECT_H_
#define EVENPACK_SERVER_ACCESS_SUBJECT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace evenpack {

struct Subject {
  enum class Kind : uint8_t {
    kName,  // of the certificate's subject, or of its common name alone: "CN=ops"
    kUri,   // a subject alternative name: "spiffe://cluster/ns/train/sa/ops"
    kDns,   // another: "trainer.example", in lower case
  };
  Kind kind = Kind::kName;
  std::string value;

  friend bool operator==(const Subject&, const Subject&) = default;
};

// As a roles file has it: "dns:NAME"; what begins with a scheme and "://"; else a
// distinguished name as RFC 2253 writes it ("CN=ops,OU=train,O=Example"), without
// spaces around its parts, their types and values. INVALID_ARGUMENT without the field's
// name for other text.
absl::StatusOr<Subject> ParseSubject(std::string_view text);
// The other way round.
std::string FormatSubject(const Subject& subject);

// What a certificate has, as gRPC tells it.
struct CertificateNames {
  std::string distinguished_name;  // RFC 2253
  std::string common_name;
  std::vector<std::string> uris;
  std::vector<std::string> dns_names;
};

// Its subjects, the distinguished name first. Names that can't be told from another
// kind's or from another name are left out: a common name with what RFC 2253 escapes,
// a URI without a scheme, anything that isn't printable ASCII.
std::vector<Subject> SubjectsOf(const CertificateNames& names);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_ACCESS_SUBJECT_H_
