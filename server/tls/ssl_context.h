// The contexts of OpenSSL in this program, gRPC's among them, give back the buffers of
// connections on which nothing happens (SSL_MODE_RELEASE_BUFFERS), up to 32 KiB of
// each, and resume no sessions: each connection shows its certificate. gRPC 1.51 has no
// setting for either, so this program's SSL_CTX_new goes before libssl's
// (docs/adr/0063).
#ifndef EVENPACK_SERVER_TLS_SSL_CONTEXT_H_
#define EVENPACK_SERVER_TLS_SSL_CONTEXT_H_

namespace evenpack {

// Does nothing: a program that calls it is linked with that SSL_CTX_new.
void LinkSslContexts();

}  // namespace evenpack

#endif  // EVENPACK_SERVER_TLS_SSL_CONTEXT_H_
