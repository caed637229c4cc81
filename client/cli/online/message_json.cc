#include "client/cli/online/message_json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>

#include "absl/strings/escaping.h"
#include "client/cli/json_text.h"

namespace evenpack {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

Json TextJson(const FieldDescriptor& field, const std::string& text) {
  return field.type() == FieldDescriptor::TYPE_BYTES ? absl::BytesToHexString(text)
                                                     : text;
}

// A number that a newer API has a name for stays a number.
Json EnumJson(const FieldDescriptor& field, int number) {
  const auto* value = field.enum_type()->FindValueByNumber(number);
  return value == nullptr ? Json(number) : Json(value->name());
}

Json SingularJson(const Message& message, const FieldDescriptor& field) {
  const Reflection& read = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return read.GetInt32(message, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return read.GetInt64(message, &field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return read.GetUInt32(message, &field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return read.GetUInt64(message, &field);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return read.GetDouble(message, &field);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return read.GetFloat(message, &field);
    case FieldDescriptor::CPPTYPE_BOOL:
      return read.GetBool(message, &field);
    case FieldDescriptor::CPPTYPE_ENUM:
      return EnumJson(field, read.GetEnumValue(message, &field));
    case FieldDescriptor::CPPTYPE_STRING:
      return TextJson(field, read.GetString(message, &field));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return MessageJson(read.GetMessage(message, &field));
  }
  return nullptr;
}

Json ElementJson(const Message& message, const FieldDescriptor& field, int i) {
  const Reflection& read = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return read.GetRepeatedInt32(message, &field, i);
    case FieldDescriptor::CPPTYPE_INT64:
      return read.GetRepeatedInt64(message, &field, i);
    case FieldDescriptor::CPPTYPE_UINT32:
      return read.GetRepeatedUInt32(message, &field, i);
    case FieldDescriptor::CPPTYPE_UINT64:
      return read.GetRepeatedUInt64(message, &field, i);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return read.GetRepeatedDouble(message, &field, i);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return read.GetRepeatedFloat(message, &field, i);
    case FieldDescriptor::CPPTYPE_BOOL:
      return read.GetRepeatedBool(message, &field, i);
    case FieldDescriptor::CPPTYPE_ENUM:
      return EnumJson(field, read.GetRepeatedEnumValue(message, &field, i));
    case FieldDescriptor::CPPTYPE_STRING:
      return TextJson(field, read.GetRepeatedString(message, &field, i));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return MessageJson(read.GetRepeatedMessage(message, &field, i));
  }
  return nullptr;
}

Json RepeatedJson(const Message& message, const FieldDescriptor& field) {
  Json list = Json::array();
  const int size = message.GetReflection()->FieldSize(message, &field);
  for (int i = 0; i < size; ++i) list.push_back(ElementJson(message, field, i));
  return list;
}

}  // namespace

Json MessageJson(const Message& message) {
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  Json json = Json::object();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.is_repeated()) {
      json[field.name()] = RepeatedJson(message, field);
    } else if (!field.has_presence() ||
               message.GetReflection()->HasField(message, &field)) {
      json[field.name()] = SingularJson(message, field);
    }
  }
  return json;
}

}  // namespace evenpack
