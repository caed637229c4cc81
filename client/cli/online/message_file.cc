#include "client/cli/online/message_file.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/input_file.h"
#include "client/cli/online/yaml_json.h"
#include "client/cli/quoted_value.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

using google::protobuf::Message;

constexpr size_t kMostBytes = 16U << 20U;
enum class Form { kJson, kYaml, kTextproto, kUnknown };

Form FormOf(const std::string& path, std::string_view text) {
  const auto ends = [&path](const char* suffix) {
    return absl::EndsWithIgnoreCase(path, suffix);
  };
  if (ends(".json")) return Form::kJson;
  if (ends(".yaml") || ends(".yml")) return Form::kYaml;
  if (ends(".textproto") || ends(".txtpb") || ends(".pbtxt")) return Form::kTextproto;
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool brace = first != std::string_view::npos && text[first] == '{';
  return brace ? Form::kJson : Form::kUnknown;
}

// Looks on while an object is read, whose last of two fields of a name would count.
class FieldNames {
 public:
  // Of nlohmann::json::parser_callback_t.
  void See(nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start) objects_.emplace_back();
    if (event == Event::object_end) objects_.pop_back();
    if (event == Event::key) SeeName(parsed.get<std::string>());
  }
  // "policy.wlb" of the first that came again; "" where none did.
  const std::string& again() const { return again_; }

 private:
  struct Object {
    std::set<std::string> names;
    std::string last;
  };

  void SeeName(std::string name) {
    Object& object = objects_.back();
    const bool is_new = object.names.insert(name).second;
    object.last = std::move(name);
    if (is_new || !again_.empty()) return;
    for (const Object& outer : objects_) {
      absl::StrAppend(&again_, again_.empty() ? "" : ".", outer.last);
    }
  }

  std::vector<Object> objects_;
  std::string again_;
};

// protobuf's parser reports a syntax error without its line: the text is read by
// another before.
absl::Status CheckJson(std::string_view json) {
  FieldNames names;
  const auto see = [&names](int /*depth*/, nlohmann::json::parse_event_t event,
                            const nlohmann::json& parsed) {
    names.See(event, parsed);
    return true;
  };
  try {
    if (!nlohmann::json::parse(json, see).is_object()) {
      return absl::InvalidArgumentError("a JSON object is expected");
    }
    if (!names.again().empty()) {
      return InvalidField(QuotedValue(names.again()), "a second value",
                          "each field once");
    }
  } catch (const nlohmann::json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 3: ...", or, of a
    // number beyond a double's, "[json.exception.out_of_range.406] number overflow ..."
    const std::string_view message = error.what();
    const size_t line = message.find("at line ");
    const std::string_view place =
        message.substr(line != std::string_view::npos ? line : message.find(' ') + 1);
    return absl::InvalidArgumentError(absl::string_view(place.data(), place.size()));
  }
  return absl::OkStatus();
}

absl::Status FromJson(std::string_view json, Message& message) {
  const auto status =
      google::protobuf::util::JsonStringToMessage({json.data(), json.size()}, &message);
  if (status.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::string_view(status.message().data(), status.message().size()));
}

absl::Status FromYaml(std::string_view yaml, Message& message) {
  const absl::StatusOr<std::string> json = YamlToJson(yaml);
  if (!json.ok()) return json.status();
  // A file without a value is a message without a field.
  if (*json == "null") return absl::OkStatus();
  if (!absl::StartsWith(*json, "{")) {
    return absl::InvalidArgumentError("fields with their values are expected");
  }
  return FromJson(*json, message);
}

// Keeps the first error.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (status_.ok()) {
      status_ = absl::InvalidArgumentError(
          absl::StrCat("line ", line + 1, ", column ", column + 1, ": ", message));
    }
  }
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
};

absl::Status FromTextproto(std::string_view text, Message& message) {
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (parser.ParseFromString(std::string(text), &message)) return absl::OkStatus();
  return error.status();
}

absl::Status Parse(Form form, std::string_view text, Message& message) {
  switch (form) {
    case Form::kJson:
      if (absl::Status status = CheckJson(text); !status.ok()) return status;
      return FromJson(text, message);
    case Form::kYaml:
      return FromYaml(text, message);
    case Form::kTextproto:
      return FromTextproto(text, message);
    case Form::kUnknown:
      break;
  }
  if (FromTextproto(text, message).ok()) return absl::OkStatus();
  message.Clear();
  return FromYaml(text, message);
}

}  // namespace

absl::Status ParseMessage(const std::string& flag, const std::string& path,
                          std::string_view text, Message& message) {
  message.Clear();
  absl::Status status = Parse(FormOf(path, text), text, message);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " ", QuotedValue(path), ": ", status.message()));
}

absl::Status ReadMessageFile(const std::string& flag, const std::string& path,
                             Message& message) {
  const absl::StatusOr<std::string> text = ReadWholeFile(
      flag, path,
      absl::StrCat("a readable file with an ", message.GetTypeName(),
                   " as JSON, YAML or textproto, or - for standard input"),
      kMostBytes);
  if (!text.ok()) return text.status();
  return ParseMessage(flag, path, *text, message);
}

}  // namespace evenpack
