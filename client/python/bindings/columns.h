// Columns of numbers between C++ and numpy.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_COLUMNS_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_COLUMNS_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace evenpack::python {

// What Python gets: an array that owns its numbers, and may write to them.
template <typename Number>
using Column =
    nanobind::ndarray<nanobind::numpy, Number, nanobind::ndim<1>, nanobind::c_contig>;
// What Python gives: any array of that type whose numbers lie side by side.
template <typename Number>
using GivenColumn = nanobind::ndarray<const Number, nanobind::ndim<1>,
                                      nanobind::c_contig, nanobind::device::cpu>;

template <typename Number>
Column<Number> ToColumn(std::vector<Number> numbers) {
  auto owned = std::make_unique<std::vector<Number>>(std::move(numbers));
  std::vector<Number>& held = *owned;
  const nanobind::capsule owner(owned.release(), [](void* vector) noexcept {
    delete static_cast<std::vector<Number>*>(vector);
  });
  Column<Number> column(held.data(), {held.size()}, owner);
  if constexpr (std::is_same_v<Number, uint64_t>) {
    // numpy reads it as a `long long`, which PyTorch refuses though it has as many
    // bits.
    const nanobind::object array = nanobind::cast(std::move(column));
    return nanobind::cast<Column<Number>>(array.attr("view")("uint64"));
  } else {
    return column;
  }
}

template <typename Number>
std::vector<Number> FromColumn(const GivenColumn<Number>& column) {
  return {column.data(), column.data() + column.size()};
}

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_COLUMNS_H_
