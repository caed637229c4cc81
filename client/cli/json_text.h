// Reports as JSON, whose members stand in the order they were given in.
#ifndef EVENPACK_CLIENT_CLI_JSON_TEXT_H_
#define EVENPACK_CLIENT_CLI_JSON_TEXT_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace evenpack {

using Json = nlohmann::ordered_json;

// Indented by two spaces, with a line's end. What is not UTF-8 becomes U+FFFD.
inline std::string JsonText(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Likewise on one line.
inline std::string JsonLine(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

inline Json OrNull(const std::optional<double>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_JSON_TEXT_H_
