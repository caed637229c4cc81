// The host by which a request names the server.
#ifndef EVENPACK_SERVER_WEB_REQUEST_HOST_H_
#define EVENPACK_SERVER_WEB_REQUEST_HOST_H_

#include <string_view>

namespace evenpack {

// Whether a page from elsewhere can't have its reader's browser send a request with
// this field Host to a server that only the reader's machine reaches. It could by a
// name of its own that turns into a loopback address (DNS rebinding): browsers then
// take the server for the page's own. Nobody has an address or a name without dots to
// themselves so, nor one below `localhost`. `host` may have a port; empty is no field.
bool IsOwnHost(std::string_view host);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_WEB_REQUEST_HOST_H_
