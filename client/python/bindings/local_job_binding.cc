#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <string>

#include "client/python/bindings/bindings.h"
#include "client/python/bindings/columns.h"
#include "client/python/bindings/interpreter_lock.h"
#include "client/python/bindings/local_job.h"
#include "client/python/bindings/python_bytes.h"
#include "client/python/bindings/status_error.h"
#include "server/core/digest/digest_bytes.h"

namespace evenpack::python {
namespace {

namespace nb = nanobind;

void Add(LocalJob& job, const std::string& stream, uint64_t first_sequence,
         const GivenColumn<uint32_t>& lengths,
         const std::optional<GivenColumn<uint64_t>>& ids,
         const std::optional<GivenColumn<uint32_t>>& loss_tokens,
         const std::optional<GivenColumn<uint32_t>>& sources) {
  Ingest documents;
  documents.stream = stream;
  documents.first_sequence = first_sequence;
  documents.lengths = FromColumn(lengths);
  if (ids.has_value()) documents.ids = FromColumn(*ids);
  if (loss_tokens.has_value()) documents.loss_tokens = FromColumn(*loss_tokens);
  if (sources.has_value()) documents.sources = FromColumn(*sources);
  ThrowIfError(job.Add(documents));
}

// None where it takes more documents first; OutOfRangeError where the job is drained.
std::optional<nb::bytes> NextStep(LocalJob& job, uint32_t dp_rank,
                                  std::optional<uint32_t> cp_rank) {
  absl::StatusOr<std::string> step;
  {
    const InterpreterReleased release;
    step = job.NextStep({dp_rank, cp_rank});
  }
  if (absl::IsFailedPrecondition(step.status())) return std::nullopt;
  return ToBytes(ValueOrThrow(std::move(step)));
}

}  // namespace

void BindLocalJob(nb::module_& module) {
  nb::class_<LocalJob>(module, "LocalJob")
      .def_static(
          "create",
          [](const nb::bytes& spec) {
            return ValueOrThrow(LocalJob::Create(ToText(spec)));
          },
          nb::arg("spec"))
      .def_static(
          "restore",
          [](const nb::bytes& checkpoint) {
            return ValueOrThrow(LocalJob::Restore(ToText(checkpoint)));
          },
          nb::arg("checkpoint"))
      .def_prop_ro("spec", [](const LocalJob& job) { return ToBytes(job.spec()); })
      .def_prop_ro("epoch", &LocalJob::epoch)
      .def_prop_ro("next_step", &LocalJob::next_step)
      .def_prop_ro(
          "digest",
          [](const LocalJob& job) { return ToBytes(DigestBytes(job.digest())); })
      .def(
          "next_sequence",
          [](const LocalJob& job, const std::string& stream) {
            return ValueOrThrow(job.next_sequence(stream));
          },
          nb::arg("stream"))
      .def(
          "ended",
          [](const LocalJob& job, const std::string& stream) {
            return ValueOrThrow(job.ended(stream));
          },
          nb::arg("stream"))
      .def("add", &Add, nb::arg("stream"), nb::arg("first_sequence"),
           nb::arg("lengths"), nb::arg("ids").none(), nb::arg("loss_tokens").none(),
           nb::arg("sources").none())
      .def(
          "end_of_stream",
          [](LocalJob& job, const std::string& stream) {
            ThrowIfError(job.EndOfStream(stream));
          },
          nb::arg("stream"))
      .def(
          "update",
          [](LocalJob& job, const nb::bytes& spec) {
            ThrowIfError(job.Update(ToText(spec)));
          },
          nb::arg("spec"))
      .def("take_step", &NextStep, nb::arg("dp_rank"), nb::arg("cp_rank").none())
      .def(
          "checkpoint",
          [](const LocalJob& job, uint64_t step) {
            return ToBytes(ValueOrThrow(job.Checkpoint(step)));
          },
          nb::arg("step"));
}

}  // namespace evenpack::python
