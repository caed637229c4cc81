#include "client/cli/flag_values.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/quoted_value.h"
#include "server/core/document/document.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

bool HasOnly(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

// Nothing where `text` isn't a whole number in the range.
std::optional<uint64_t> WholeNumber(const std::string& text, FlagReader::Range range) {
  uint64_t value = 0;
  if (!HasOnly(text, "0123456789") || !absl::SimpleAtoi(text, &value) ||
      value < range.least || value > range.most) {
    return std::nullopt;
  }
  return value;
}

// Without an exponent, as it is to be typed.
std::string Plain(double value) {
  char text[64];
  const std::to_chars_result end =
      std::to_chars(std::begin(text), std::end(text), value, std::chars_format::fixed);
  return {text, end.ptr};
}

std::string Accepted(FlagReader::Range range) {
  return absl::StrCat("a whole number from ", range.least, " to ", range.most);
}

}  // namespace

bool IsGiven(const FlagValues& values, const std::string& flag) {
  return values.contains(flag);
}

const std::string* FlagReader::Find(const std::string& flag, bool has_fallback,
                                    std::string_view accepted) {
  const auto found = values_.find(flag);
  if (found != values_.end()) return &found->second;
  if (!has_fallback) {
    Fail(absl::InvalidArgumentError(
        absl::StrCat(flag, " is missing; accepted: ", View(accepted))));
  }
  return nullptr;
}

std::string FlagReader::Text(const std::string& flag, std::string_view accepted,
                             std::optional<std::string> fallback) {
  const std::string* text = Find(flag, fallback.has_value(), accepted);
  if (text == nullptr) return std::move(fallback).value_or("");
  if (text->empty()) Fail(InvalidField(flag, "''", View(accepted)));
  return *text;
}

size_t FlagReader::OneOf(const std::string& flag,
                         std::span<const std::string_view> names) {
  std::string accepted;
  for (const std::string_view name : names) {
    absl::StrAppend(&accepted, accepted.empty() ? "" : ", ", View(name));
  }
  const std::string* text = Find(flag, false, accepted);
  if (text == nullptr) return 0;
  const auto found = std::find(names.begin(), names.end(), *text);
  if (found == names.end()) Fail(InvalidField(flag, QuotedValue(*text), accepted));
  return static_cast<size_t>(found - names.begin());
}

uint64_t FlagReader::Integer(const std::string& flag, Range range,
                             std::optional<uint64_t> fallback) {
  const std::string* text = Find(flag, fallback.has_value(), Accepted(range));
  if (text == nullptr) return fallback.value_or(0);
  const std::optional<uint64_t> value = WholeNumber(*text, range);
  if (!value.has_value()) Fail(InvalidField(flag, QuotedValue(*text), Accepted(range)));
  return value.value_or(0);
}

uint32_t FlagReader::Integer32(const std::string& flag, Range range,
                               std::optional<uint32_t> fallback) {
  return static_cast<uint32_t>(Integer(flag, range, fallback));
}

double FlagReader::Real(const std::string& flag, double least, double most,
                        double fallback) {
  const std::string* text = Find(flag, true, "");
  if (text == nullptr) return fallback;
  double value = 0;
  if (!HasOnly(*text, "0123456789.eE+-") || !absl::SimpleAtod(*text, &value) ||
      !(value >= least && value <= most)) {
    Fail(InvalidField(
        flag, QuotedValue(*text),
        absl::StrCat("a number from ", Plain(least), " to ", Plain(most))));
  }
  return value;
}

bool FlagReader::Boolean(const std::string& flag, bool fallback) {
  const std::string* text = Find(flag, true, "");
  if (text == nullptr) return fallback;
  if (*text != "true" && *text != "false") {
    Fail(InvalidField(flag, QuotedValue(*text), "true or false"));
  }
  return *text == "true";
}

std::vector<uint32_t> FlagReader::Tokens(const std::string& flag,
                                         std::vector<uint32_t> fallback) {
  const std::string* text = Find(flag, true, "");
  if (text == nullptr) return fallback;
  std::vector<uint32_t> counts;
  const std::vector<std::string> parts = absl::StrSplit(*text, ',');
  for (const std::string& part : parts) {
    const std::optional<uint64_t> count = WholeNumber(part, {1, kMaxDocumentLength});
    if (!count.has_value()) {
      Fail(InvalidField(flag, QuotedValue(part),
                        absl::StrCat("token counts from 1 to ", kMaxDocumentLength,
                                     " with commas between them")));
      return {};
    }
    counts.push_back(static_cast<uint32_t>(*count));
  }
  return counts;
}

}  // namespace evenpack
