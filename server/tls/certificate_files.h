// The files with which a server shows who it is, and knows whom it lets in.
#ifndef EVENPACK_SERVER_TLS_CERTIFICATE_FILES_H_
#define EVENPACK_SERVER_TLS_CERTIFICATE_FILES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace evenpack {

// Paths, named as the flags of evenpack-server.
struct CertificateFiles {
  std::string certificate;  // PEM, the server's first, then those up to the authority
  std::string key;          // PEM, not encrypted
  std::string client_ca;    // PEM, one authority or more; empty: clients show none
};

struct CertificateTexts {
  // The key, and nothing else that its file has, and behind it the chain: one text, so
  // that whoever replaces one file by another never mixes two pairs.
  std::string identity;
  std::string client_ca;

  friend bool operator==(const CertificateTexts&, const CertificateTexts&) = default;
};

// Reads them and sees that they can be served: the key is that of the certificate, and
// OpenSSL takes it and the whole chain at its level of security. INVALID_ARGUMENT names
// the flag and the file, and shows nothing of what is in it. A certificate that is out
// of date is read: what its clients say of it is theirs to say (see HasExpired).
absl::StatusOr<CertificateTexts> ReadCertificateFiles(const CertificateFiles& files);

// Whether the first certificate of a text that was read is out of date, or not yet in.
bool HasExpired(const CertificateTexts& texts);

// When the first of the chain's certificates runs out, in seconds since 1970-01-01 UTC;
// none where the text has no certificate.
std::optional<int64_t> ExpiryOf(const CertificateTexts& texts);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_TLS_CERTIFICATE_FILES_H_
