// A plan's shape as a graph of cuDNN's frontend.
#ifndef EVENPACK_GPU_WORKER_CUDNN_ATTENTION_GRAPH_H_
#define EVENPACK_GPU_WORKER_CUDNN_ATTENTION_GRAPH_H_

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include <cudnn_frontend.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "gpu_worker/cudnn/attention_plan.h"
#include "gpu_worker/cudnn/plan_memory.h"

namespace evenpack::worker {

class SizedGraph final : public cudnn_frontend::graph::Graph {
 public:
  // Of the workspace, before what is cuDNN's own.
  int64_t frontend_bytes() const { return get_fe_workspace_size_subtree(); }
};

// The tensors of a graph, and what it does with them.
class AttentionGraph {
 public:
  // `generation`: of the device, as 90 for Hopper.
  AttentionGraph(const PlanShape& shape, int generation) : shape_(shape) {
    graph_.set_sm_version(generation);
    graph_
        .set_io_data_type(of().type == ElementType::kFloat16 ? DataType::HALF
                                                             : DataType::BFLOAT16)
        .set_intermediate_data_type(DataType::FLOAT)
        .set_compute_data_type(DataType::FLOAT);
    query_offsets_ = Table(kQueryOffsets, DataType::INT64, 1);
    key_offsets_ = Table(kKeyOffsets, DataType::INT64, 1);
    log_sum_exp_offsets_ = Table(kLogSumExpOffsets, DataType::INT64, 1);
    query_lengths_ = Table(kQueryLengths, DataType::INT32, 0);
    key_lengths_ = Table(kKeyLengths, DataType::INT32, 0);
    query_ = Input(kQuery, Queries());
    key_ = Input(kKey, Keys());
    value_ = Input(kValue, Keys());
    if (shape.pass == Pass::kForward) {
      AddForward();
    } else {
      AddBackward();
    }
  }

  SizedGraph& graph() { return graph_; }

  // Sets what a run passes by tensors' numbers.
  void PointTo(const PlanTables& tables, const PlanTensors& tensors,
               std::unordered_map<int64_t, void*>& pointers) const {
    const auto pass = [&pointers](Id id, const void* pointer) {
      pointers[id] = const_cast<void*>(pointer);
    };
    pass(kQuery, tensors.query);
    pass(kKey, tensors.key);
    pass(kValue, tensors.value);
    pass(kOutput, tensors.output);
    pass(kLogSumExp, tensors.log_sum_exp);
    pass(kQueryLengths, tables.query_lengths);
    pass(kKeyLengths, tables.key_lengths);
    pass(kQueryOffsets, tables.query_offsets);
    pass(kKeyOffsets, tables.key_offsets);
    pass(kLogSumExpOffsets, tables.log_sum_exp_offsets);
    if (shape_.pass == Pass::kForward) return;
    pass(kOutputGradient, tensors.output_gradient);
    pass(kQueryGradient, tensors.query_gradient);
    pass(kKeyGradient, tensors.key_gradient);
    pass(kValueGradient, tensors.value_gradient);
    pass(kKeyGradientOffsets, tables.key_gradient_offsets);
  }

 private:
  using Attributes = cudnn_frontend::graph::Tensor_attributes;
  using DataType = cudnn_frontend::DataType_t;
  using Tensor = std::shared_ptr<Attributes>;

  // Tensors' numbers.
  enum Id : int64_t {
    kQuery = 1,
    kKey,
    kValue,
    kOutput,
    kLogSumExp,
    kOutputGradient,
    kQueryGradient,
    kKeyGradient,
    kValueGradient,
    kQueryLengths,
    kKeyLengths,
    kQueryOffsets,
    kKeyOffsets,
    kLogSumExpOffsets,
    kKeyGradientOffsets,
  };

  const AttentionShape& of() const { return shape_.attention; }

  Tensor Table(Id id, DataType type, int64_t more) {
    return graph_.tensor(Attributes()
                             .set_uid(id)
                             .set_dim({shape_.sequences + more, 1, 1, 1})
                             .set_stride({1, 1, 1, 1})
                             .set_data_type(type));
  }
  Attributes Rows(int64_t heads, int64_t tokens, int64_t stride,
                  const Tensor& offsets) const {
    Attributes rows;
    rows.set_dim({shape_.sequences, heads, tokens, of().head_size})
        .set_stride({tokens * stride, of().head_size, stride, 1})
        .set_ragged_offset(offsets);
    return rows;
  }
  Attributes Queries() const {
    return Rows(of().query_heads, shape_.queries, shape_.query_stride, query_offsets_);
  }
  Attributes Keys() const {
    return Rows(of().kv_heads, shape_.keys, shape_.key_stride, key_offsets_);
  }
  Attributes LogSumExp() const {
    Attributes numbers;
    numbers.set_dim({shape_.sequences, of().query_heads, shape_.queries, 1})
        .set_stride({shape_.queries * shape_.log_sum_exp_stride, 1,
                     shape_.log_sum_exp_stride, 1})
        .set_ragged_offset(log_sum_exp_offsets_)
        .set_data_type(DataType::FLOAT);
    return numbers;
  }
  Tensor Input(Id id, Attributes attributes) {
    return graph_.tensor(attributes.set_uid(id));
  }
  static void Output(const Tensor& tensor, Id id, const Attributes& as) {
    tensor->set_output(true)
        .set_uid(id)
        .set_dim(as.get_dim())
        .set_stride(as.get_stride())
        .set_ragged_offset(const_cast<Attributes&>(as).get_ragged_offset());
  }

  template <typename Operation>
  void SetMask(Operation& attributes) const {
    attributes.set_attn_scale(of().Scale())
        .set_padding_mask(true)
        .set_seq_len_q(query_lengths_)
        .set_seq_len_kv(key_lengths_);
    if (shape_.mask == Mask::kFull) return;
    attributes
        .set_diagonal_alignment(shape_.mask == Mask::kCausal
                                    ? cudnn_frontend::DiagonalAlignment_t::TOP_LEFT
                                    : cudnn_frontend::DiagonalAlignment_t::BOTTOM_RIGHT)
        .set_diagonal_band_right_bound(0);
    if (of().sliding_window != 0) {
      // One that shows all keys is as good as any longer one, which might not be an
      // int.
      attributes.set_diagonal_band_left_bound(
          static_cast<int>(std::min<int64_t>(of().sliding_window, shape_.keys)));
    }
  }

  void AddForward() {
    cudnn_frontend::graph::SDPA_attributes attributes;
    SetMask(attributes);
    attributes.set_generate_stats(true);
    auto [output, log_sum_exp] = graph_.sdpa(query_, key_, value_, attributes);
    Output(output, kOutput, Queries());
    Output(log_sum_exp, kLogSumExp, LogSumExp());
    log_sum_exp->set_data_type(DataType::FLOAT).set_alignment(kForwardSumAlignment);
  }

  void AddBackward() {
    cudnn_frontend::graph::SDPA_backward_attributes attributes;
    SetMask(attributes);
    attributes.set_max_total_seq_len_q(shape_.all_queries)
        .set_max_total_seq_len_kv(shape_.all_keys);
    const Tensor output = Input(kOutput, Queries());
    const Tensor output_gradient = Input(kOutputGradient, Queries());
    const Tensor log_sum_exp = Input(kLogSumExp, LogSumExp());
    auto [query_gradient, key_gradient, value_gradient] = graph_.sdpa_backward(
        query_, key_, value_, output, output_gradient, log_sum_exp, attributes);
    Output(query_gradient, kQueryGradient, Queries());
    const Tensor offsets = Table(kKeyGradientOffsets, DataType::INT64, 1);
    const Attributes gradients =
        Rows(of().kv_heads, shape_.keys, shape_.key_gradient_stride, offsets);
    Output(key_gradient, kKeyGradient, gradients);
    Output(value_gradient, kValueGradient, gradients);
  }

  const PlanShape shape_;
  SizedGraph graph_;
  Tensor query_offsets_;
  Tensor key_offsets_;
  Tensor log_sum_exp_offsets_;
  Tensor query_lengths_;
  Tensor key_lengths_;
  Tensor query_;
  Tensor key_;
  Tensor value_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDNN_ATTENTION_GRAPH_H_
