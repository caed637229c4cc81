#include "client/cpp/security.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/local_address.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::client {
namespace {

constexpr size_t kMostTokenBytes = 8192;
constexpr size_t kReadBytes = 8192;

std::string Quoted(absl::string_view text) { return absl::StrCat("'", text, "'"); }

// A certificate, a key or a name says nothing where there is no TLS; and who gives them
// believes that there is.
absl::Status CheckNeedsTls(absl::string_view field, const std::string& value) {
  if (value.empty()) return absl::OkStatus();
  return InvalidField(field, Quoted(value), "one with TLS, which is off");
}

struct CloseFile {
  void operator()(std::FILE* file) const {
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory,cert-err33-c): was only read.
    std::fclose(file);
  }
};

absl::StatusOr<std::string> ReadWhole(absl::string_view field,
                                      const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  std::string text;
  std::array<char, kReadBytes> part{};
  // Of a folder, opening succeeds and reading fails.
  while (file != nullptr && std::feof(file.get()) == 0 &&
         std::ferror(file.get()) == 0) {
    text.append(part.data(), std::fread(part.data(), 1, part.size(), file.get()));
  }
  if (file != nullptr && std::ferror(file.get()) == 0) return text;
  const absl::Status why = absl::ErrnoToStatus(errno, "a file that can be read");
  return InvalidField(field, Quoted(path), why.message());
}

absl::Status CheckPem(absl::string_view field, const std::string& path,
                      absl::string_view label) {
  if (path.empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> text = ReadWhole(field, path);
  if (!text.ok()) return text.status();
  if (absl::StrContains(*text, "-----BEGIN ") &&
      absl::StrContains(*text, absl::StrCat(label, "-----"))) {
    return absl::OkStatus();
  }
  return InvalidField(field, Quoted(path),
                      absl::StrCat("a PEM file with a ", label, " in it"));
}

}  // namespace

bool UsesTls(const Security& security) {
  return security.tls || !security.ca_file.empty();
}

absl::Status Validate(const Security& security, absl::string_view address) {
  if (security.certificate_file.empty() && !security.key_file.empty()) {
    return InvalidField("security.certificate_file", "''",
                        "the certificate of the key that is given");
  }
  if (security.key_file.empty() && !security.certificate_file.empty()) {
    return InvalidField("security.key_file", "''",
                        "the key of the certificate that is given");
  }
  if (UsesTls(security)) return absl::OkStatus();
  absl::Status status =
      CheckNeedsTls("security.certificate_file", security.certificate_file);
  status.Update(CheckNeedsTls("security.server_name", security.server_name));
  if (status.ok() && !security.token_file.empty() && !IsLocalAddress(address)) {
    return InvalidField(
        "security.token_file", Quoted(security.token_file),
        absl::StrCat("one with TLS, which is off, or for a server of this machine, "
                     "which ",
                     Quoted(address),
                     " is not: what is sent in the clear is anyone's"));
  }
  return status;
}

absl::Status CheckFiles(const Security& security) {
  absl::Status status = CheckPem("security.ca_file", security.ca_file, "CERTIFICATE");
  status.Update(
      CheckPem("security.certificate_file", security.certificate_file, "CERTIFICATE"));
  status.Update(CheckPem("security.key_file", security.key_file, "PRIVATE KEY"));
  if (!security.token_file.empty()) {
    status.Update(ReadToken(security.token_file).status());
  }
  return status;
}

absl::StatusOr<std::string> ReadToken(const std::string& file) {
  constexpr char kField[] = "security.token_file";
  absl::StatusOr<std::string> text = ReadWhole(kField, file);
  if (!text.ok()) return text.status();
  absl::StripTrailingAsciiWhitespace(&*text);
  const auto visible = [](unsigned char c) { return absl::ascii_isgraph(c); };
  if (!text->empty() && text->size() <= kMostTokenBytes &&
      std::all_of(text->begin(), text->end(), visible)) {
    return text;
  }
  return InvalidField(kField, Quoted(file),
                      absl::StrCat("a file with a token: 1 to ", kMostTokenBytes,
                                   " visible characters on one line"));
}

}  // namespace evenpack::client
