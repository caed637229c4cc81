// Certificates for tests: see make_certificates.sh, which makes them.
#ifndef EVENPACK_TESTS_TESTING_CERTIFICATES_H_
#define EVENPACK_TESTS_TESTING_CERTIFICATES_H_

#include <string>

namespace evenpack::testing {

// The files of "server", "client" and so on: made when the first one is asked for, gone
// when the program ends.
std::string CertificateFile(const std::string& name);
std::string KeyFile(const std::string& name);

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_TESTING_CERTIFICATES_H_
