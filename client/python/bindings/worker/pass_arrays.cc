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

std::string PlaceName(std::optional<int> cuda_device) {
  return cuda_device.has_value() ? absl::StrCat("on CUDA device ", *cuda_device)
                                 : std::string("in the process's memory");
}

std::string PlaceOf(const PassArray& array) {
  if (array.device_type() == nb::device::cuda::value) {
    return PlaceName(array.device_id());
  }
  if (array.device_type() == nb::device::cpu::value) return PlaceName(std::nullopt);
  return absl::StrCat("on a device of DLPack's type ", array.device_type());
}

// What the arrays of a pass must be like.
class ArrayCheck {
 public:
  ArrayCheck(const worker::AttentionShape& shape, uint64_t rows,
             std::optional<int> cuda_device)
      : shape_(shape), rows_(rows), place_(PlaceName(cuda_device)) {}

  // A row for each token, of so many heads.
  void Heads(const char* name, const PassArray& array, uint32_t heads) const {
    Array(name, array, shape_.type, {rows_, heads, shape_.head_size});
  }
  void Array(const char* name, const PassArray& array, ElementType type,
             const std::vector<size_t>& form) const {
    if (const std::string place = PlaceOf(array); place != place_) {
      throw StatusError(InvalidField(name, place, place_));
    }
    // A tensor that only says what it would be like.
    if (array.data() == nullptr && array.size() > 0) {
      throw StatusError(InvalidField(name, "a tensor without memory", place_));
    }
    std::vector<size_t> has;
    has.reserve(array.ndim());
    for (size_t i = 0; i < array.ndim(); ++i) has.push_back(array.shape(i));
    if (has == form && array.dtype() == TypeOf(type)) return;
    throw StatusError(
        InvalidField(name,
                     absl::StrCat("[", absl::StrJoin(has, ", "), "] of ",
                                  array.dtype().bits, " bits"),
                     absl::StrCat("[", absl::StrJoin(form, ", "), "] of ",
                                  std::string(worker::ElementTypeName(type)))));
  }

 private:
  const worker::AttentionShape& shape_;
  const uint64_t rows_;
  const std::string place_;
};

}  // namespace

void Check(const PreparedMicroBatch& prepared, const ForwardArrays& arrays,
           std::optional<int> cuda_device) {
  const worker::AttentionShape& shape = prepared.shape;
  const ArrayCheck check(shape, prepared.held_rows, cuda_device);
  check.Heads("query", arrays.query, shape.query_heads);
  check.Heads("key", arrays.key, shape.kv_heads);
  check.Heads("value", arrays.value, shape.kv_heads);
  check.Heads("output", arrays.output, shape.query_heads);
  check.Array("log_sum_exp", arrays.log_sum_exp, ElementType::kFloat32,
              {prepared.held_rows, shape.query_heads});
}

void Check(const PreparedMicroBatch& prepared, const BackwardArrays& arrays,
           std::optional<int> cuda_device) {
  const worker::AttentionShape& shape = prepared.shape;
  const ArrayCheck check(shape, prepared.held_rows, cuda_device);
  check.Heads("output_gradient", arrays.output_gradient, shape.query_heads);
  check.Heads("query_gradient", arrays.query_gradient, shape.query_heads);
  check.Heads("key_gradient", arrays.key_gradient, shape.kv_heads);
  check.Heads("value_gradient", arrays.value_gradient, shape.kv_heads);
}

}  // namespace evenpack::python
