#include "server/access/subject.h"

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace evenpack {
namespace {

constexpr std::string_view kDnsPrefix = "dns:";
constexpr std::string_view kCommonNamePrefix = "CN=";

bool IsPrintable(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return c >= ' ' && c <= '~'; });
}

bool HasScheme(std::string_view text) {
  const size_t end = text.find("://");
  return end != std::string_view::npos && end > 0 &&
         absl::ascii_isalpha(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.begin() + static_cast<ptrdiff_t>(end),
                     [](char c) {
                       return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                              c == '+' || c == '-' || c == '.';
                     });
}

// The name's parts, as "CN=ops", between commas and plus signs that no backslash is
// before.
std::vector<std::string_view> PartsOf(std::string_view name) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '\\') {
      ++i;
    } else if (name[i] == ',' || name[i] == '+') {
      parts.push_back(name.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  parts.push_back(name.substr(begin));
  return parts;
}

// A space begins or ends a type or a value. RFC 2253 puts a backslash before it.
bool HasSpaceAtItsEnds(std::string_view text) {
  if (text.starts_with(' ')) return true;
  if (!text.ends_with(' ')) return false;
  const size_t last = text.find_last_not_of('\\', text.size() - 2);
  const size_t before = last == std::string_view::npos ? 0 : last + 1;
  return (text.size() - 1 - before) % 2 == 0;
}

// As people write names, and RFC 2253 doesn't.
bool HasSpacedParts(std::string_view name) {
  const std::vector<std::string_view> parts = PartsOf(name);
  return std::any_of(parts.begin(), parts.end(), [](std::string_view part) {
    const size_t equals = part.find('=');
    return HasSpaceAtItsEnds(part.substr(0, equals)) ||
           (equals != std::string_view::npos &&
            HasSpaceAtItsEnds(part.substr(equals + 1)));
  });
}

// Nothing that RFC 2253 would escape: "CN=" and this is then the name's one form.
bool IsPlainName(std::string_view text) {
  return IsPrintable(text) && text.find_first_of(",+\"\\<>;=#") == std::string::npos &&
         text.front() != ' ' && text.back() != ' ';
}

std::string LowerCase(std::string_view text) {
  return absl::AsciiStrToLower(absl::string_view(text.data(), text.size()));
}

}  // namespace

absl::StatusOr<Subject> ParseSubject(std::string_view text) {
  if (IsPrintable(text)) {
    if (HasScheme(text)) return Subject{Subject::Kind::kUri, std::string(text)};
    if (text.starts_with(kDnsPrefix) && text.size() > kDnsPrefix.size()) {
      return Subject{Subject::Kind::kDns, LowerCase(text.substr(kDnsPrefix.size()))};
    }
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos && equals > 0 && equals + 1 < text.size() &&
        !HasSpacedParts(text)) {
      return Subject{Subject::Kind::kName, std::string(text)};
    }
  }
  return absl::InvalidArgumentError(
      "no subject; accepted: a distinguished name as 'CN=ops' or 'CN=ops,O=Example' "
      "without spaces around '=' and ',', a URI as 'spiffe://HOST/PATH', 'dns:NAME'");
}

std::string FormatSubject(const Subject& subject) {
  if (subject.kind != Subject::Kind::kDns) return subject.value;
  return absl::StrCat(absl::string_view(kDnsPrefix.data(), kDnsPrefix.size()),
                      subject.value);
}

std::vector<Subject> SubjectsOf(const CertificateNames& names) {
  std::vector<Subject> subjects;
  const auto add = [&subjects](Subject::Kind kind, const std::string& value) {
    const Subject subject{kind, value};
    const bool known =
        std::find(subjects.begin(), subjects.end(), subject) != subjects.end();
    if (!known) subjects.push_back(subject);
  };
  if (IsPrintable(names.distinguished_name)) {
    add(Subject::Kind::kName, names.distinguished_name);
  }
  if (IsPlainName(names.common_name)) {
    add(Subject::Kind::kName, std::string(kCommonNamePrefix) + names.common_name);
  }
  for (const std::string& uri : names.uris) {
    if (IsPrintable(uri) && HasScheme(uri)) add(Subject::Kind::kUri, uri);
  }
  for (const std::string& name : names.dns_names) {
    if (IsPrintable(name)) add(Subject::Kind::kDns, LowerCase(name));
  }
  return subjects;
}

}  // namespace evenpack
