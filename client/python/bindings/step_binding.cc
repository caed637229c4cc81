#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/rank_step.h"
#include "client/cpp/verify_step.h"
#include "client/python/bindings/bindings.h"
#include "client/python/bindings/python_bytes.h"
#include "client/python/bindings/shared_spec.h"
#include "client/python/bindings/status_error.h"
#include "client/python/bindings/step_message.h"
#include "evenpack/v1/step.pb.h"
#include "server/core/digest/digest_bytes.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::python {
namespace {

namespace nb = nanobind;
using client::RankStep;
using client::StepTotals;

SharedSpec ReadSpec(const nb::bytes& bytes) {
  auto spec = std::make_shared<v1::JobSpec>();
  if (!spec->ParseFromArray(bytes.c_str(), static_cast<int>(bytes.size()))) {
    throw StatusError(InvalidField("spec", absl::StrCat(bytes.size(), " bytes"),
                                   "an evenpack.v1.JobSpec"));
  }
  return {std::move(spec)};
}

RankStep ReadStep(const nb::bytes& bytes, const SharedSpec& spec) {
  v1::Step message;
  if (!message.ParseFromArray(bytes.c_str(), static_cast<int>(bytes.size()))) {
    throw StatusError(absl::DataLossError("the bytes are no evenpack.v1.Step"));
  }
  return ValueOrThrow(RankStep::FromMessage(message, spec.spec));
}

// The message, and the spec: what pickle takes to another process.
using StepBytes = std::tuple<nb::bytes, nb::bytes>;

void BindTotals(nb::class_<RankStep>& step) {
  const auto total = [](auto member) {
    return [member](const RankStep& s) { return s.totals().*member; };
  };
  step.def_prop_ro("tokens", total(&StepTotals::tokens),
                   "Tokens of the whole step, all ranks together.")
      .def_prop_ro("padding", total(&StepTotals::padding), "Padding of the whole step.")
      .def_prop_ro("loss_tokens", total(&StepTotals::loss_tokens),
                   "Tokens of the whole step that count in the loss: what every rank\n"
                   "divides its part of the loss by.")
      .def_prop_ro("sum_squared_lengths", total(&StepTotals::sum_squared_lengths),
                   "Over the documents of the whole step, of their lengths: the\n"
                   "attention's part of the model's operations, for MFU.")
      .def_prop_ro("max_workload_ns", total(&StepTotals::max_workload_ns),
                   "Predicted forward pass of the slowest micro-batch, nanoseconds.")
      .def_prop_ro("total_workload_ns", total(&StepTotals::total_workload_ns),
                   "The same of all together.")
      .def_prop_ro("total_micro_batches", total(&StepTotals::micro_batches),
                   "Micro-batches of the whole step, all ranks together.");
}

const client::MicroBatchView& MicroBatchAt(const RankStep& step, int64_t i) {
  const auto size = static_cast<int64_t>(step.micro_batches().size());
  if (i < -size || i >= size) {
    throw nb::index_error(absl::StrCat("micro-batch ", i,
                                       " is not accepted; accepted: ", -size, " to ",
                                       size - 1)
                              .c_str());
  }
  return step.micro_batches()[static_cast<size_t>(i < 0 ? i + size : i)];
}

void BindMicroBatchesOf(nb::class_<RankStep>& step) {
  step.def("__len__", [](const RankStep& s) { return s.micro_batches().size(); })
      .def(
          "__getitem__", &MicroBatchAt, nb::rv_policy::reference_internal, nb::arg("i"),
          "The rank's micro-batch i, 0 to len - 1; below 0: from the end, as a list's.")
      .def(
          "__iter__",
          [](const nb::handle& self) {
            nb::list micro_batches;
            for (size_t i = 0; i < nb::len(self); ++i) {
              micro_batches.append(self[nb::int_(i)]);
            }
            return nb::iter(micro_batches);
          },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[MicroBatch]"),
          "The rank's micro-batches in order.");
}

// For another process.
void BindBytes(nb::class_<RankStep>& step) {
  step.def(
          "to_bytes", [](const RankStep& s) { return Serialized(MessageOf(s)); },
          "Bytes of the evenpack.v1.Step, which read() takes.")
      .def("__getstate__",
           [](const RankStep& s) {
             return StepBytes(Serialized(MessageOf(s)), Serialized(s.spec()));
           })
      .def("__setstate__", [](RankStep& s, const StepBytes& bytes) {
        new (&s) RankStep(ReadStep(std::get<0>(bytes), ReadSpec(std::get<1>(bytes))));
      });
}

void BindStep(nb::module_& module) {
  nb::class_<RankStep> step(module, "Step",
                            "One optimizer step as a data-parallel rank gets it: its "
                            "micro-batches, and\n"
                            "what the whole step comes to. Constant; can be pickled.");
  step.def_static("read", &ReadStep, nb::arg("bytes"), nb::arg("spec"),
                  "From the bytes of an evenpack.v1.Step. DataLossError: it is none.")
      .def(
          "verify",
          [](const RankStep& s, const nb::bytes& previous) {
            const std::optional<Digest128> digest = DigestFromBytes(ToText(previous));
            if (!digest.has_value()) {
              throw StatusError(InvalidField("previous_digest",
                                             absl::StrCat(previous.size(), " bytes"),
                                             "16 bytes"));
            }
            ThrowIfError(client::VerifyStep(s, *digest));
          },
          nb::arg("previous_digest"),
          "Computes the digests of the rank's micro-batches, plans and slices and the\n"
          "chain from the step before. DataLossError: one differs.")
      .def_prop_ro("index", &RankStep::index, "From 0, without gaps.")
      .def_prop_ro("epoch", &RankStep::epoch,
                   "The job's shape epoch in which it was decided.")
      .def_prop_ro(
          "kind", [](const RankStep& s) { return std::string(StepKindName(s.kind())); },
          "What it was formed from: 'full_batch', 'backlog' or 'drain'.")
      .def_prop_ro("dp_rank", &RankStep::dp_rank, "Whose micro-batches it has.")
      .def(
          "of_cp_rank",
          [](const RankStep& s, int64_t rank) {
            const auto own = s.micro_batches();
            // Where there are none, of a rank that the step was not decided for,
            // nothing tells how many ranks a group has.
            const int64_t ranks = own.empty()
                                      ? int64_t{std::numeric_limits<uint32_t>::max()}
                                      : int64_t{own[0].context_parallel()};
            ThrowIfError(CheckRange("cp_rank", rank, 0, ranks - 1));
            return ValueOrThrow(s.OfCpRank(static_cast<uint32_t>(rank)));
          },
          nb::arg("cp_rank"),
          "The step as it comes where this rank's slices were asked for, of one that\n"
          "came without. InvalidArgumentError: the group has no such rank, or another\n"
          "one's were asked for.")
      .def_prop_ro(
          "digest", [](const RankStep& s) { return ToBytes(DigestBytes(s.digest())); },
          "16 bytes, over this step and all before it: the same on every rank.")
      .def_prop_ro(
          "previous_digest",
          [](const RankStep& s) { return ToBytes(DigestBytes(s.previous_digest())); },
          "Digest of the step before.")
      .def_prop_ro(
          "spec", [](const RankStep& s) { return Serialized(s.spec()); },
          "Bytes of the job's evenpack.v1.JobSpec in this epoch.");
  BindMicroBatchesOf(step);
  BindBytes(step);
  BindTotals(step);
}

}  // namespace

void BindSteps(nb::module_& module) {
  nb::class_<SharedSpec>(module, "Spec", "A job's spec, which its steps share.")
      .def(
          "__init__",
          [](SharedSpec* self, const nb::bytes& bytes) {
            new (self) SharedSpec(ReadSpec(bytes));
          },
          nb::arg("bytes"), "From the bytes of an evenpack.v1.JobSpec.");
  BindStep(module);
}

}  // namespace evenpack::python
