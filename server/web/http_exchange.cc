#include "server/web/http_exchange.h"

#include <httplib.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/web/request_host.h"

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

// A request, as it was sent and once it was read, and the answer that this thread puts
// into words for it.
struct Exchanged {
  std::string_view sent;
  std::optional<HttpRequest> request = {};
  // Null before it is known.
  HttpResponse* response = nullptr;
};

// What the thread is about: the library passes nothing of ours through.
thread_local Exchanged* current_exchange = nullptr;

// What stands behind the colon in a line of a header that is this field; none where it
// is another. The library's reading, but for the escapes that it decodes.
std::optional<std::string_view> ValueIn(std::string_view line, std::string_view name) {
  constexpr std::string_view kBlanks = " \t";
  if (!line.ends_with('\r')) return std::nullopt;
  line.remove_suffix(1);
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view found = line.substr(0, colon);
  if (!absl::EqualsIgnoreCase(absl::string_view(found.data(), found.size()),
                              absl::string_view(name.data(), name.size()))) {
    return std::nullopt;
  }
  line.remove_prefix(colon + 1);
  const size_t first = line.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return "";
  return line.substr(first, line.find_last_not_of(kBlanks) + 1 - first);
}

// The fields of that name as they were sent. The library decodes what looks like an
// escape of a URL, which a token may have as its own text.
std::vector<std::string> FieldsAsSent(std::string_view request, std::string_view name) {
  std::vector<std::string> values;
  size_t end = request.find('\n');
  while (end != std::string_view::npos) {
    request.remove_prefix(end + 1);
    end = request.find('\n');
    const std::string_view line = request.substr(0, end);
    if (line == "\r") break;
    const std::optional<std::string_view> value = ValueIn(line, name);
    if (value.has_value()) values.emplace_back(*value);
  }
  return values;
}

HttpRequest Converted(const httplib::Request& request, std::string_view sent) {
  return {request.path, request.params, request.get_header_value("If-None-Match"),
          FieldsAsSent(sent, "Authorization")};
}

}  // namespace

// The library's server reads and writes whole streams with a blocked thread for each;
// here it is given streams that never block. Where a folder is asked, the request goes
// through it twice: to be read, and to be answered.
class HttpExchange::Protocol final : private httplib::Server {
 public:
  Protocol(HttpPages pages, AcceptedHosts hosts)
      : pages_(std::move(pages)), hosts_(hosts) {
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

  void Answer(std::string request, std::function<void(std::string)> send) {
    Exchanged exchanged{request};
    std::string answer = Exchange(request, exchanged);
    const HttpFolder* const folder = exchanged.request.has_value()
                                         ? pages_.FindFolder(exchanged.request->path)
                                         : nullptr;
    if (folder == nullptr) return send(std::move(answer));
    folder->handler(*exchanged.request,
                    [this, request = std::move(request),
                     send = std::move(send)](HttpResponse response) {
                      Exchanged answered{request};
                      answered.response = &response;
                      send(Exchange(request, answered));
                    });
  }

 private:
  std::string Exchange(const std::string& request, Exchanged& exchanged) {
    TextStream stream(request);
    bool connection_closed = false;
    Exchanged* const outer = std::exchange(current_exchange, &exchanged);
    process_request(stream, /*close_connection=*/true, connection_closed, &Restrict);
    current_exchange = outer;
    return stream.TakeAnswer();
  }

  // What would let a small request cost much. Ranges that overlap make an answer of any
  // size; Brotli, as the library uses it, takes seconds for a large page.
  static void Restrict(httplib::Request& request) {
    request.ranges.clear();
    request.headers.erase("Accept-Encoding");
  }

  // Whether the request is for another server, which is then answered.
  bool Misdirected(httplib::Response& response) const {
    if (hosts_ == AcceptedHosts::kAny) return false;
    for (const std::string& host : FieldsAsSent(current_exchange->sent, "Host")) {
      if (IsOwnHost(host)) continue;
      response.status = 421;
      response.set_content(
          absl::StrCat(
              "Host: '", absl::CHexEscape(host),
              "' is not accepted by a port on a loopback address; accepted: an "
              "IP address, localhost, a name without dots\n"),
          std::string(kPlainText));
      return true;
    }
    return false;
  }

  void Route(const httplib::Request& request, httplib::Response& response) const {
    if (Misdirected(response)) return;
    if (request.method != "GET" && request.method != "HEAD") {
      response.status = 405;
      response.set_header("Allow", "GET, HEAD");
      response.set_content("only GET and HEAD are accepted\n", std::string(kPlainText));
      return;
    }
    if (current_exchange->response != nullptr)
      return Write(*current_exchange->response, response);
    current_exchange->request = Converted(request, current_exchange->sent);
    if (pages_.FindFolder(request.path) != nullptr) return;
    HttpResponse page = pages_.Answer(request.path);
    Write(page, response);
  }

  static void Write(HttpResponse& page, httplib::Response& response) {
    response.status = page.status;
    response.body = std::move(page.body);
    response.set_header("Content-Type", page.content_type);
    for (const auto& [name, value] : page.headers) {
      response.headers.erase(name);
      response.set_header(name, value);
    }
  }

  const HttpPages pages_;
  const AcceptedHosts hosts_;
};

HttpExchange::HttpExchange(HttpPages pages, AcceptedHosts hosts)
    : protocol_(std::make_unique<Protocol>(std::move(pages), hosts)) {}

HttpExchange::~HttpExchange() = default;

void HttpExchange::Answer(std::string request,
                          std::function<void(std::string)> send) const {
  protocol_->Answer(std::move(request), std::move(send));
}

}  // namespace evenpack
