#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "client/python/bindings/interpreter_lock.h"
#include "client/python/bindings/status_error.h"
#include "client/python/bindings/worker/worker_bindings.h"
#include "gpu_worker/executor/prepared_micro_batch.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::python {
namespace {

namespace nb = nanobind;
using worker::AttentionShape;
using worker::PreparedMicroBatch;

AttentionShape MakeShape(const std::string& type, uint32_t query_heads,
                         uint32_t kv_heads, uint32_t head_size, float scale,
                         uint32_t sliding_window) {
  AttentionShape shape;
  shape.query_heads = query_heads;
  shape.kv_heads = kv_heads;
  shape.head_size = head_size;
  shape.scale = scale;
  shape.sliding_window = sliding_window;
  const std::optional<worker::ElementType> named = worker::ElementTypeNamed(type);
  if (!named.has_value()) {
    throw StatusError(InvalidField("dtype", type, "float32, bfloat16 or float16"));
  }
  shape.type = *named;
  ThrowIfError(Check(shape));
  return shape;
}

PreparedMicroBatch Prepare(const ShardPlan& plan, uint32_t rank,
                           const AttentionShape& shape, uint32_t index,
                           bool keys_together) {
  ThrowIfError(CheckRange("cp_rank", rank, 0, plan.context_parallel - 1));
  const InterpreterReleased release;
  PreparedMicroBatch prepared =
      worker::PrepareMicroBatch(plan, rank, shape,
                                keys_together ? worker::KeyPlacement::kTogether
                                              : worker::KeyPlacement::kWhereTheyAre);
  prepared.index = index;
  return prepared;
}

}  // namespace

void BindPrepared(nb::module_& module) {
  nb::class_<AttentionShape>(module, "Shape")
      .def(
          "__init__",
          [](AttentionShape* self, const std::string& type, uint32_t query_heads,
             uint32_t kv_heads, uint32_t head_size, float scale,
             uint32_t sliding_window) {
            new (self) AttentionShape(MakeShape(type, query_heads, kv_heads, head_size,
                                                scale, sliding_window));
          },
          nb::arg("dtype"), nb::arg("query_heads"), nb::arg("kv_heads"),
          nb::arg("head_size"), nb::arg("scale"), nb::arg("sliding_window"));
  nb::class_<PreparedMicroBatch>(module, "Prepared")
      .def_static("make", &Prepare, nb::arg("plan"), nb::arg("rank"), nb::arg("shape"),
                  nb::arg("index"), nb::arg("keys_together"))
      .def_ro("rows", &PreparedMicroBatch::held_rows);
}

}  // namespace evenpack::python
