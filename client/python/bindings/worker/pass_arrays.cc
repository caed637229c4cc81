#include "client/python/bindings/worker/pass_arrays.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/python/bindings/status_error.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::python {
namespace {

namespace nb = nanobind;
using worker::ElementType;
using worker::PreparedMicroBatch;

nb::dlpack::dtype TypeOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return nb::dtype<float>();
    case ElementType::kBfloat16:
      return {static_cast<uint8_t>(nb::dlpack::dtype_code::Bfloat), 16, 1};
    case ElementType::kFloat16:
      return {static_cast<uint8_t>(nb::dlpack::dtype_code::Float), 16, 1};
  }
  return {};
}

void CheckArray(const char* name, const PassArray& array, ElementType type,
                const std::vector<size_t>& form) {
  std::vector<size_t> has;
  has.reserve(array.ndim());
  for (size_t i = 0; i < array.ndim(); ++i) has.push_back(array.shape(i));
  if (has == form && array.dtype() == TypeOf(type)) return;
  throw StatusError(InvalidField(
      name,
      absl::StrCat("[", absl::StrJoin(has, ", "), "] of ", array.dtype().bits, " bits"),
      absl::StrCat("[", absl::StrJoin(form, ", "), "] of ",
                   std::string(worker::ElementTypeName(type)))));
}

// Of a token's query or key row.
std::vector<size_t> Rows(const PreparedMicroBatch& prepared, uint32_t heads) {
  return {prepared.held_rows, heads, prepared.shape.head_size};
}

}  // namespace

void Check(const PreparedMicroBatch& prepared, const ForwardArrays& arrays) {
  const worker::AttentionShape& shape = prepared.shape;
  const std::vector<size_t> queries = Rows(prepared, shape.query_heads);
  const std::vector<size_t> keys = Rows(prepared, shape.kv_heads);
  CheckArray("query", arrays.query, shape.type, queries);
  CheckArray("key", arrays.key, shape.type, keys);
  CheckArray("value", arrays.value, shape.type, keys);
  CheckArray("output", arrays.output, shape.type, queries);
  CheckArray("log_sum_exp", arrays.log_sum_exp, ElementType::kFloat32,
             {prepared.held_rows, shape.query_heads});
}

void Check(const PreparedMicroBatch& prepared, const BackwardArrays& arrays) {
  const worker::AttentionShape& shape = prepared.shape;
  const std::vector<size_t> queries = Rows(prepared, shape.query_heads);
  const std::vector<size_t> keys = Rows(prepared, shape.kv_heads);
  CheckArray("output_gradient", arrays.output_gradient, shape.type, queries);
  CheckArray("query_gradient", arrays.query_gradient, shape.type, queries);
  CheckArray("key_gradient", arrays.key_gradient, shape.type, keys);
  CheckArray("value_gradient", arrays.value_gradient, shape.type, keys);
}

}  // namespace evenpack::python
