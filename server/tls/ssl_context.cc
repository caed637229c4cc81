#include "server/tls/ssl_context.h"

#include <openssl/ssl.h>

// As libssl's, which it hides from the libraries of the program.
extern "C" SSL_CTX* SSL_CTX_new(const SSL_METHOD* method) {
  SSL_CTX* const context = SSL_CTX_new_ex(nullptr, nullptr, method);
  if (context == nullptr) return nullptr;
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  // A session of before would bring in a certificate that is out of date by now, and
  // with TLS 1.3 be followed by another one each time.
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  return context;
}

namespace evenpack {

void LinkSslContexts() {}

}  // namespace evenpack
