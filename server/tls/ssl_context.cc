#include "server/tls/ssl_context.h"

#include <openssl/ssl.h>

// As libssl's, which it hides from the libraries of the program.
extern "C" SSL_CTX* SSL_CTX_new(const SSL_METHOD* method) {
  SSL_CTX* const context = SSL_CTX_new_ex(nullptr, nullptr, method);
  if (context != nullptr) SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  return context;
}

namespace evenpack {

void LinkSslContexts() {}

}  // namespace evenpack
