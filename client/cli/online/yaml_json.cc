#include "client/cli/online/yaml_json.h"

#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/json_text.h"
#include "client/cli/quoted_value.h"
#include "server/core/document/invalid_field.h"
#include "server/yaml/one_document.h"

namespace evenpack {
namespace {

// Aliases make a short text a large tree.
constexpr size_t kMostValues = 400'000;
constexpr size_t kMostLevels = 100;

std::string LineOf(const YAML::Mark& mark) {
  return absl::StrCat("line ", mark.line + 1);
}

class Converter {
 public:
  absl::StatusOr<Json> Convert(const YAML::Node& node, size_t level) {
    if (++values_ > kMostValues) {
      return InvalidField(LineOf(node.Mark()), "one value more",
                          absl::StrCat("at most ", kMostValues, " values"));
    }
    if (level > kMostLevels) {
      return InvalidField(LineOf(node.Mark()), "one level more",
                          absl::StrCat("at most ", kMostLevels, " levels"));
    }
    switch (node.Type()) {
      case YAML::NodeType::Sequence:
        return Sequence(node, level);
      case YAML::NodeType::Map:
        return Mapping(node, level);
      case YAML::NodeType::Scalar:
        return Scalar(node);
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        break;
    }
    return Json(nullptr);
  }

 private:
  absl::StatusOr<Json> Sequence(const YAML::Node& node, size_t level) {
    Json list = Json::array();
    for (const YAML::Node& item : node) {
      absl::StatusOr<Json> value = Convert(item, level + 1);
      if (!value.ok()) return value.status();
      list.push_back(*std::move(value));
    }
    return list;
  }

  absl::StatusOr<Json> Mapping(const YAML::Node& node, size_t level) {
    Json object = Json::object();
    for (const auto& member : node) {
      const YAML::Node& key = member.first;
      if (!key.IsScalar()) {
        return InvalidField(LineOf(key.Mark()), "a key that is no text", "field names");
      }
      if (object.contains(key.Scalar())) {
        return InvalidField(LineOf(key.Mark()),
                            absl::StrCat(QuotedValue(key.Scalar()), " again"),
                            "each field once");
      }
      absl::StatusOr<Json> value = Convert(member.second, level + 1);
      if (!value.ok()) return value.status();
      object[key.Scalar()] = *std::move(value);
    }
    return object;
  }

  static Json Scalar(const YAML::Node& node) {
    const std::string& text = node.Scalar();
    // "?" is the tag of a plain scalar, "!" that of a quoted one.
    if (node.Tag() != "?") return text;
    Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    return value.is_primitive() && !value.is_discarded() && !value.is_string()
               ? value
               : Json(text);
  }

  size_t values_ = 0;
};

}  // namespace

absl::StatusOr<std::string> YamlToJson(std::string_view yaml) {
  try {
    const absl::StatusOr<Json> json =
        Converter().Convert(LoadOneDocument(std::string(yaml)), 0);
    if (!json.ok()) return json.status();
    return json->dump(-1, ' ', false, Json::error_handler_t::replace);
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(LineOf(error.mark), ": ", error.msg));
  }
}

}  // namespace evenpack
