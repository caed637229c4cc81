#include "tests/fuzz/message_mutator.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <array>
#include <random>
#include <string>
#include <vector>

// libFuzzer's own mutation of bytes.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace evenpack::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

uint64_t ChangedNumber(uint64_t value, Random& random) {
  switch (Below(random, 8)) {
    case 0:
      return value + 1;
    case 1:
      return value - 1;
    case 2:
      return value * 2;
    case 3:
      return value / 2;
    case 4:
      return random() % 16;
    case 5:
      return uint64_t{1} << Below(random, 64);
    case 6:
      return ~uint64_t{0} >> Below(random, 64);
    default:
      LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(&value), sizeof(value),
                       sizeof(value));
      return value;
  }
}

double ChangedReal(double value, Random& random) {
  constexpr std::array<double, 6> kValues = {0, 1, 0.5, -1, 1e6, 1e300};
  const size_t choice = Below(random, kValues.size() + 2);
  if (choice < kValues.size()) return kValues[choice];
  return choice == kValues.size() ? value * 2 : value / 3;
}

void MutateSingular(Message& message, const FieldDescriptor& field, Random& random) {
  const Reflection& access = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return access.SetUInt32(&message, &field,
                              static_cast<uint32_t>(ChangedNumber(
                                  access.GetUInt32(message, &field), random)));
    case FieldDescriptor::CPPTYPE_UINT64:
      return access.SetUInt64(&message, &field,
                              ChangedNumber(access.GetUInt64(message, &field), random));
    case FieldDescriptor::CPPTYPE_INT64:
      return access.SetInt64(
          &message, &field,
          static_cast<int64_t>(ChangedNumber(
              static_cast<uint64_t>(access.GetInt64(message, &field)), random)));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return access.SetDouble(&message, &field,
                              ChangedReal(access.GetDouble(message, &field), random));
    case FieldDescriptor::CPPTYPE_BOOL:
      return access.SetBool(&message, &field, !access.GetBool(message, &field));
    case FieldDescriptor::CPPTYPE_ENUM:
      return access.SetEnumValue(&message, &field, static_cast<int>(Below(random, 8)));
    case FieldDescriptor::CPPTYPE_STRING:
      return access.SetString(&message, &field,
                              ChangedBytes(access.GetString(message, &field)));
    default:
      access.MutableMessage(&message, &field);
  }
}

void AddElement(Message& message, const FieldDescriptor& field, Random& random) {
  const Reflection& access = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return access.AddUInt32(&message, &field,
                              static_cast<uint32_t>(ChangedNumber(64, random)));
    case FieldDescriptor::CPPTYPE_UINT64:
      return access.AddUInt64(&message, &field, ChangedNumber(1, random));
    case FieldDescriptor::CPPTYPE_INT64:
      return access.AddInt64(&message, &field,
                             static_cast<int64_t>(ChangedNumber(1000, random)));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      access.AddMessage(&message, &field);
      return;
    default:
      return;
  }
}

void MutateElement(Message& message, const FieldDescriptor& field, int index,
                   Random& random) {
  const Reflection& access = *message.GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
    access.SetRepeatedUInt32(
        &message, &field, index,
        static_cast<uint32_t>(
            ChangedNumber(access.GetRepeatedUInt32(message, &field, index), random)));
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
    const auto value =
        static_cast<uint64_t>(access.GetRepeatedInt64(message, &field, index));
    access.SetRepeatedInt64(&message, &field, index,
                            static_cast<int64_t>(ChangedNumber(value, random)));
  } else {
    access.SwapElements(&message, &field, index, 0);
  }
}

void MutateRepeated(Message& message, const FieldDescriptor& field, Random& random) {
  const Reflection& access = *message.GetReflection();
  const int size = access.FieldSize(message, &field);
  const size_t choice = size == 0 ? 0 : Below(random, 4);
  if (choice == 0) return AddElement(message, field, random);
  if (choice == 1) return access.RemoveLast(&message, &field);
  MutateElement(message, field,
                static_cast<int>(Below(random, static_cast<size_t>(size))), random);
}

// The message itself and all that are set below it.
void Collect(Message& message, std::vector<Message*>& messages) {
  messages.push_back(&message);
  const Reflection& access = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  access.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      Collect(*access.MutableMessage(&message, field), messages);
      continue;
    }
    for (int i = 0; i < access.FieldSize(message, field); ++i) {
      Collect(*access.MutableRepeatedMessage(&message, field, i), messages);
    }
  }
}

}  // namespace

std::string ChangedBytes(std::string bytes) {
  const size_t before = bytes.size();
  bytes.resize(before + 16);
  bytes.resize(
      LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(bytes.data()), before, bytes.size()));
  return bytes;
}

void Mutate(Message& message, Random& random) {
  std::vector<Message*> messages;
  Collect(message, messages);
  Message& chosen = *messages[Below(random, messages.size())];
  const auto fields = static_cast<size_t>(chosen.GetDescriptor()->field_count());
  if (fields == 0) return;
  const FieldDescriptor& field =
      *chosen.GetDescriptor()->field(static_cast<int>(Below(random, fields)));
  if (Below(random, 16) == 0)
    return chosen.GetReflection()->ClearField(&chosen, &field);
  if (field.is_repeated()) return MutateRepeated(chosen, field, random);
  MutateSingular(chosen, field, random);
}

}  // namespace evenpack::fuzz
