#include "server/tls/certificate_files.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/runtime/file_text.h"

namespace evenpack {
namespace {

constexpr char kCertificateFlag[] = "tls-certificate";
constexpr char kKeyFlag[] = "tls-key";
constexpr char kClientCaFlag[] = "tls-client-ca";

template <auto free_function>
struct Freed {
  template <typename Object>
  void operator()(Object* object) const {
    free_function(object);
  }
};
using Bio = std::unique_ptr<BIO, Freed<&BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freed<&X509_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, Freed<&EVP_PKEY_free>>;
using SslContext = std::unique_ptr<SSL_CTX, Freed<&SSL_CTX_free>>;

// What OpenSSL says of the last failure, none of which holds bytes of a key.
std::string LastError() {
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason == nullptr ? "it can't be used" : reason;
}

absl::Status UnusableFile(absl::string_view flag, const std::string& path,
                          absl::string_view why, absl::string_view accepted) {
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": '", path, "': ", why, "; accepted: ", accepted));
}

// OpenSSL would ask at the terminal.
int NoPassphrase(char*, int, int, void*) { return 0; }

Bio Open(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::vector<Certificate> ReadCertificates(const std::string& text) {
  std::vector<Certificate> certificates;
  const Bio bio = Open(text);
  while (X509* const read =
             PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr)) {
    certificates.emplace_back(read);
  }
  return certificates;
}

PrivateKey ReadKey(const std::string& text) {
  const Bio bio = Open(text);
  return PrivateKey(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr));
}

std::string PemOf(const PrivateKey& key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  char* text = nullptr;
  const auto size = static_cast<size_t>(BIO_get_mem_data(bio.get(), &text));
  std::string pem(text, size);
  return pem;
}

absl::Status CheckCertificates(absl::string_view flag, const std::string& path,
                               const std::string& text) {
  const bool any = !ReadCertificates(text).empty();
  // The end of the text is an error for OpenSSL; one in its midst is another.
  const auto error = ERR_peek_last_error();
  const bool whole = ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (any && whole) return absl::OkStatus();
  return UnusableFile(
      flag, path,
      any ? "what follows a certificate can't be read" : "it has no certificate",
      "certificates in PEM");
}

// As the transport will use them, which looks at those behind the first one no earlier
// than at each handshake.
absl::Status CheckUse(const CertificateFiles& files,
                      const std::vector<Certificate>& chain, const PrivateKey& key) {
  const SslContext context(SSL_CTX_new(TLS_server_method()));
  if (SSL_CTX_use_certificate(context.get(), chain.front().get()) != 1) {
    return UnusableFile(kCertificateFlag, files.certificate, LastError(),
                        "a certificate that OpenSSL takes");
  }
  for (size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context.get(), chain[i].get()) == 1) continue;
    return UnusableFile(kCertificateFlag, files.certificate,
                        absl::StrCat("certificate ", i + 1, " in it: ", LastError()),
                        "certificates that OpenSSL takes");
  }
  if (SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1) {
    return UnusableFile(kKeyFlag, files.key, LastError(), "a key that OpenSSL takes");
  }
  return absl::OkStatus();
}

// The key in PEM, of which nothing else in its file is part: gRPC takes the first
// certificate of the identity for the server's.
absl::StatusOr<std::string> CheckedKey(const CertificateFiles& files,
                                       const std::string& chain_text,
                                       const std::string& key_text) {
  const PrivateKey key = ReadKey(key_text);
  if (key == nullptr) {
    return UnusableFile(kKeyFlag, files.key, LastError(),
                        "a private key in PEM that is not encrypted");
  }
  const std::vector<Certificate> chain = ReadCertificates(chain_text);
  ERR_clear_error();
  if (X509_check_private_key(chain.front().get(), key.get()) != 1) {
    ERR_clear_error();
    return UnusableFile(
        kKeyFlag, files.key, "it is not the key of the certificate",
        absl::StrCat("the key of --", kCertificateFlag, " '", files.certificate, "'"));
  }
  if (absl::Status status = CheckUse(files, chain, key); !status.ok()) return status;
  return PemOf(key);
}

}  // namespace

absl::StatusOr<CertificateTexts> ReadCertificateFiles(const CertificateFiles& files) {
  const absl::StatusOr<std::string> chain =
      ReadFileText(kCertificateFlag, files.certificate);
  if (!chain.ok()) return chain.status();
  const absl::StatusOr<std::string> key = ReadFileText(kKeyFlag, files.key);
  if (!key.ok()) return key.status();
  absl::Status status = CheckCertificates(kCertificateFlag, files.certificate, *chain);
  if (!status.ok()) return status;
  const absl::StatusOr<std::string> checked_key = CheckedKey(files, *chain, *key);
  if (!checked_key.ok()) return checked_key.status();
  CertificateTexts texts{absl::StrCat(*checked_key, *chain), ""};
  if (files.client_ca.empty()) return texts;
  absl::StatusOr<std::string> authorities =
      ReadFileText(kClientCaFlag, files.client_ca);
  if (!authorities.ok()) return authorities.status();
  texts.client_ca = *std::move(authorities);
  status = CheckCertificates(kClientCaFlag, files.client_ca, texts.client_ca);
  if (!status.ok()) return status;
  return texts;
}

bool HasExpired(const CertificateTexts& texts) {
  const std::vector<Certificate> chain = ReadCertificates(texts.identity);
  ERR_clear_error();
  return chain.empty() ||
         X509_cmp_current_time(X509_get0_notAfter(chain[0].get())) < 0 ||
         X509_cmp_current_time(X509_get0_notBefore(chain[0].get())) > 0;
}

std::optional<int64_t> ExpiryOf(const CertificateTexts& texts) {
  std::optional<int64_t> first;
  for (const Certificate& certificate : ReadCertificates(texts.identity)) {
    std::tm utc = {};
    if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &utc) != 1) continue;
    const int64_t expiry = timegm(&utc);
    first = std::min(first.value_or(expiry), expiry);
  }
  ERR_clear_error();
  return first;
}

}  // namespace evenpack
