#include "server/web/http_exchange.h"

#include <httplib.h>

#include <exception>
#include <string_view>
#include <utility>

namespace evenpack {
namespace {

// A connection in memory.
class TextStream final : public httplib::Stream {
 public:
  explicit TextStream(std::string request) : request_(std::move(request)) {}

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* bytes, size_t size) override {
    const std::string_view rest = std::string_view(request_).substr(read_);
    const size_t count = rest.copy(bytes, size);
    read_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* bytes, size_t size) override {
    answer_.append(bytes, size);
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  int socket() const override { return -1; }

  std::string TakeAnswer() { return std::move(answer_); }

 private:
  const std::string request_;
  size_t read_ = 0;
  std::string answer_;
};

}  // namespace

// The library's server reads and writes whole streams with a blocked thread for each;
// here it is given streams that never block.
class HttpExchange::Protocol final : private httplib::Server {
 public:
  explicit Protocol(HttpPages pages) : pages_(std::move(pages)) {
    set_default_headers(
        {{"X-Content-Type-Options", "nosniff"}, {"Cache-Control", "no-store"}});
    set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& response) {
          Route(request, response);
          return HandlerResponse::Handled;
        });
    // The library's own would send the exception's text.
    set_exception_handler([](const httplib::Request&, httplib::Response& response,
                             const std::exception_ptr&) {
      response.status = 500;
      response.set_content("internal error\n", std::string(kPlainText));
    });
  }

  std::string Answer(std::string request) {
    TextStream stream(std::move(request));
    bool connection_closed = false;
    process_request(stream, /*close_connection=*/true, connection_closed, &Restrict);
    return stream.TakeAnswer();
  }

 private:
  // What would let a small request cost much. Ranges that overlap make an answer of any
  // size; Brotli, as the library uses it, takes seconds for a large page.
  static void Restrict(httplib::Request& request) {
    request.ranges.clear();
    request.headers.erase("Accept-Encoding");
  }

  void Route(const httplib::Request& request, httplib::Response& response) const {
    if (request.method != "GET" && request.method != "HEAD") {
      response.status = 405;
      response.set_header("Allow", "GET, HEAD");
      response.set_content("only GET and HEAD are accepted\n", std::string(kPlainText));
      return;
    }
    HttpResponse page = pages_.Answer(request.path);
    response.status = page.status;
    response.body = std::move(page.body);
    response.set_header("Content-Type", page.content_type);
  }

  const HttpPages pages_;
};

HttpExchange::HttpExchange(HttpPages pages)
    : protocol_(std::make_unique<Protocol>(std::move(pages))) {}

HttpExchange::~HttpExchange() = default;

std::string HttpExchange::Answer(std::string request) const {
  return protocol_->Answer(std::move(request));
}

}  // namespace evenpack
