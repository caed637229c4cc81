#include "client/python/bindings/status_error.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "client/cpp/error_details.h"

namespace evenpack::python {
namespace {

namespace nb = nanobind;

nb::object ErrorOf(const absl::Status& status) {
  const client::ErrorDetails details = client::DetailsOf(status);
  std::vector<std::pair<std::string, std::string>> fields;
  fields.reserve(details.field_violations.size());
  for (const client::FieldViolation& violation : details.field_violations) {
    fields.emplace_back(violation.field, violation.description);
  }
  return nb::module_::import_("evenpack.errors")
      .attr("from_status")(static_cast<int>(status.code()),
                           std::string(status.message()), details.reason,
                           details.metadata, fields);
}

void SetPythonError(const absl::Status& status) {
  try {
    const nb::object error = ErrorOf(status);
    PyErr_SetObject(error.type().ptr(), error.ptr());
  } catch (nb::python_error& error) {
    // Of a signal's handler, as Ctrl-C's is, that Python ran within from_status.
    // Thrown on, it would become a RuntimeError.
    error.restore();
  }
}

}  // namespace

void TranslateStatusErrors() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const StatusError& error) {
      SetPythonError(error.status());
    }
  });
}

}  // namespace evenpack::python
