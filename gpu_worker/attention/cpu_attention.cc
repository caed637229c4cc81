#include "gpu_worker/attention/cpu_attention.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "gpu_worker/attention/key_tile.h"
#include "gpu_worker/attention/softmax_row.h"
#include "gpu_worker/attention/thread_team.h"

namespace evenpack::worker {
namespace {

// Rows of a tile of queries: tokens times the query heads that share a KV head.
constexpr uint64_t kMostRowsPerTile = 256;
constexpr uint64_t kLeastRowsPerTile = 64;

uint32_t TokensInRows(uint64_t rows, const AttentionShape& shape) {
  return std::max<uint32_t>(1, static_cast<uint32_t>(rows) / shape.group_size());
}

// Half of the keys that stand beside a tile's own queries are hidden from them. A
// sixteenth of what the task's last query sees is few enough.
uint32_t TokensPerTile(const AttentionTask& task, const AttentionShape& shape) {
  const uint64_t seen = task.end - shape.FirstKey(task.end - 1);
  const uint64_t rows = seen * shape.group_size() / 16;
  return TokensInRows(std::clamp(rows, kLeastRowsPerTile, kMostRowsPerTile), shape);
}

// Row-major, of single precision.
struct Matrix {
  const float* data;
  size_t rows;
  size_t columns;
  size_t stride;
};

// to = beta * to + alpha * op(a) op(b), where `to` has its own stride.
void Multiply(float alpha, const Matrix& a, CBLAS_TRANSPOSE op_a, const Matrix& b,
              CBLAS_TRANSPOSE op_b, float beta, float* to, size_t stride) {
  const size_t rows = op_a == CblasNoTrans ? a.rows : a.columns;
  const size_t inner = op_a == CblasNoTrans ? a.columns : a.rows;
  const size_t columns = op_b == CblasNoTrans ? b.columns : b.rows;
  const auto number = [](size_t value) { return static_cast<blasint>(value); };
  cblas_sgemm(CblasRowMajor, op_a, op_b, number(rows), number(columns), number(inner),
              alpha, a.data, number(a.stride), b.data, number(b.stride), beta, to,
              number(stride));
}

const void* ElementAt(const Rows& rows, ElementType type, uint64_t row, size_t column) {
  return static_cast<const char*>(rows.data) +
         (row * rows.stride + column) * BytesOf(type);
}
void* ElementAt(const MutableRows& rows, ElementType type, uint64_t row,
                size_t column) {
  return static_cast<char*>(rows.data) + (row * rows.stride + column) * BytesOf(type);
}
float* ElementAt(const FloatRows& rows, uint64_t row, size_t column) {
  return rows.data + row * rows.stride + column;
}

// A thread's memory.
struct Scratch {
  std::vector<float> query;
  std::vector<float> output;
  std::vector<float> output_gradient;
  std::vector<float> query_gradient;
  std::vector<float> key;
  std::vector<float> value;
  // Query rows x keys.
  std::vector<float> scores;
  std::vector<float> score_gradients;
  // By query row.
  std::vector<float> largest;
  std::vector<float> sum;
  std::vector<float> delta;

  void Fit(const AttentionShape& shape) {
    const size_t rows =
        size_t{TokensInRows(kMostRowsPerTile, shape)} * shape.group_size();
    for (auto* tile : {&query, &output, &output_gradient, &query_gradient}) {
      tile->resize(rows * shape.head_size);
    }
    for (auto* tile : {&key, &value}) {
      tile->resize(size_t{kKeysPerTile} * shape.head_size);
    }
    for (auto* tile : {&scores, &score_gradients}) tile->resize(rows * kKeysPerTile);
    for (auto* column : {&largest, &sum, &delta}) column->resize(rows);
  }
};

// Queries of consecutive tokens of a task under one KV head. Its rows are the tokens'
// query heads, token by token.
class QueryTile {
 public:
  QueryTile(const AttentionCall& call, const AttentionTask& task, uint32_t head,
            uint32_t begin, Scratch& scratch)
      : call_(call),
        shape_(call.shape),
        task_(task),
        head_(head),
        begin_(begin),
        end_(std::min(task.end, begin + TokensPerTile(task, call.shape))),
        scratch_(scratch) {}

  void Forward(const ForwardResult& result);
  void Backward(const BackwardInput& input, const BackwardResult& result);

 private:
  size_t group() const { return shape_.group_size(); }
  size_t size() const { return shape_.head_size; }
  size_t rows() const { return (end_ - begin_) * group(); }
  uint64_t RowOf(uint32_t position) const {
    return task_.query_row + (position - task_.begin);
  }
  size_t RowInTile(uint32_t position) const { return (position - begin_) * group(); }
  Matrix InTile(const std::vector<float>& tile) const {
    return {tile.data(), rows(), size(), size()};
  }
  Matrix Scores(const std::vector<float>& tile, const KeyRun& keys) const {
    return {tile.data(), rows(), keys.count, kKeysPerTile};
  }

  void LoadTile(const Rows& from, std::vector<float>& tile) const {
    const size_t width = group() * size();
    for (uint32_t p = begin_; p < end_; ++p) {
      Load(shape_.type, ElementAt(from, shape_.type, RowOf(p), head_ * width), width,
           tile.data() + RowInTile(p) * size());
    }
  }
  void StoreTile(const std::vector<float>& tile, const MutableRows& to) const {
    const size_t width = group() * size();
    for (uint32_t p = begin_; p < end_; ++p) {
      Store(shape_.type, tile.data() + RowInTile(p) * size(), width,
            ElementAt(to, shape_.type, RowOf(p), head_ * width));
    }
  }
  // In place where they are floats already.
  Matrix KeyMatrix(const KeyRun& keys, const Rows& own, const Rows& received,
                   std::vector<float>& tile) const {
    const Rows& from = keys.received ? received : own;
    const void* first = ElementAt(from, shape_.type, keys.row, head_ * size());
    if (shape_.type == ElementType::kFloat32) {
      return {static_cast<const float*>(first), keys.count, size(), from.stride};
    }
    for (uint32_t i = 0; i < keys.count; ++i) {
      Load(shape_.type, ElementAt(from, shape_.type, keys.row + i, head_ * size()),
           size(), tile.data() + i * size());
    }
    return {tile.data(), keys.count, size(), size()};
  }
  Matrix Keys(const KeyRun& keys) const {
    return KeyMatrix(keys, call_.own_key, call_.received_key, scratch_.key);
  }
  Matrix Values(const KeyRun& keys) const {
    return KeyMatrix(keys, call_.own_value, call_.received_value, scratch_.value);
  }
  // Calls visit(row in tile, visible keys, the row's scores).
  template <typename Visit>
  void ForEachRow(const KeyRun& keys, Visit visit) const {
    for (uint32_t p = begin_; p < end_; ++p) {
      const VisibleKeys visible = VisibleTo(p, keys, shape_);
      for (size_t g = 0; g < group(); ++g) {
        const size_t row = RowInTile(p) + g;
        visit(row, visible, scratch_.scores.data() + row * kKeysPerTile);
      }
    }
  }
  static void ClearHidden(const VisibleKeys& visible, const KeyRun& keys,
                          float* scores) {
    std::fill(scores, scores + visible.begin, 0.0F);
    std::fill(scores + visible.end, scores + keys.count, 0.0F);
  }

  void AddKeys(const KeyRun& keys) const;
  void Normalise(const FloatRows& log_sum_exp) const;
  void PrepareBackward(const BackwardInput& input) const;
  void AddGradients(const KeyRun& keys, const BackwardResult& result) const;

  const AttentionCall& call_;
  const AttentionShape& shape_;
  const AttentionTask& task_;
  const uint32_t head_;
  const uint32_t begin_;
  const uint32_t end_;
  Scratch& scratch_;
};

void QueryTile::Forward(const ForwardResult& result) {
  LoadTile(call_.query, scratch_.query);
  std::fill_n(scratch_.output.begin(), rows() * size(), 0.0F);
  std::fill_n(scratch_.largest.begin(), rows(),
              -std::numeric_limits<float>::infinity());
  std::fill_n(scratch_.sum.begin(), rows(), 0.0F);
  ForEachKeyTile(task_, shape_, begin_, end_,
                 [this](const KeyRun& keys) { AddKeys(keys); });
  Normalise(result.log_sum_exp);
  StoreTile(scratch_.output, result.output);
}

// The online softmax: what was summed under a smaller maximum is scaled down.
void QueryTile::AddKeys(const KeyRun& keys) const {
  Multiply(shape_.Scale(), InTile(scratch_.query), CblasNoTrans, Keys(keys), CblasTrans,
           0, scratch_.scores.data(), kKeysPerTile);
  ForEachRow(keys, [&](size_t row, const VisibleKeys& visible, float* scores) {
    ClearHidden(visible, keys, scores);
    if (visible.begin == visible.end) return;
    const size_t count = visible.end - visible.begin;
    float* const seen = scores + visible.begin;
    float& largest = scratch_.largest[row];
    const float before = largest;
    largest = std::max(before, LargestOf(seen, count));
    if (largest > before) {
      const float shrink = std::exp(before - largest);
      scratch_.sum[row] *= shrink;
      float* const output = scratch_.output.data() + row * size();
      for (size_t i = 0; i < size(); ++i) output[i] *= shrink;
    }
    scratch_.sum[row] += ExponentiateRow(seen, count, largest);
  });
  Multiply(1, Scores(scratch_.scores, keys), CblasNoTrans, Values(keys), CblasNoTrans,
           1, scratch_.output.data(), size());
}

void QueryTile::Normalise(const FloatRows& log_sum_exp) const {
  for (uint32_t p = begin_; p < end_; ++p) {
    float* const to = ElementAt(log_sum_exp, RowOf(p), head_ * group());
    for (size_t g = 0; g < group(); ++g) {
      const size_t row = RowInTile(p) + g;
      const float inverse = 1 / scratch_.sum[row];
      float* const output = scratch_.output.data() + row * size();
      for (size_t i = 0; i < size(); ++i) output[i] *= inverse;
      to[g] = scratch_.largest[row] + std::log(scratch_.sum[row]);
    }
  }
}

void QueryTile::Backward(const BackwardInput& input, const BackwardResult& result) {
  PrepareBackward(input);
  std::fill_n(scratch_.query_gradient.begin(), rows() * size(), 0.0F);
  ForEachKeyTile(task_, shape_, begin_, end_,
                 [&](const KeyRun& keys) { AddGradients(keys, result); });
  StoreTile(scratch_.query_gradient, result.query_gradient);
}

// delta = sum of output times its gradient, as FlashAttention has it: the part of the
// scores' gradients that all keys of a query share.
void QueryTile::PrepareBackward(const BackwardInput& input) const {
  LoadTile(call_.query, scratch_.query);
  LoadTile(input.output, scratch_.output);
  LoadTile(input.output_gradient, scratch_.output_gradient);
  for (size_t row = 0; row < rows(); ++row) {
    const auto output = scratch_.output.begin() + static_cast<ptrdiff_t>(row * size());
    const auto gradient =
        scratch_.output_gradient.begin() + static_cast<ptrdiff_t>(row * size());
    scratch_.delta[row] = std::inner_product(
        output, output + static_cast<ptrdiff_t>(size()), gradient, 0.0F);
  }
  for (uint32_t p = begin_; p < end_; ++p) {
    const float* const from = ElementAt(input.log_sum_exp, RowOf(p), head_ * group());
    std::copy_n(from, group(), scratch_.sum.data() + RowInTile(p));
  }
}

void QueryTile::AddGradients(const KeyRun& keys, const BackwardResult& result) const {
  const Matrix query = InTile(scratch_.query);
  const Matrix output_gradient = InTile(scratch_.output_gradient);
  const Matrix key = Keys(keys);
  const size_t column = head_ * size();
  const FloatRows& key_gradient =
      keys.received ? result.received_key_gradient : result.own_key_gradient;
  const FloatRows& value_gradient =
      keys.received ? result.received_value_gradient : result.own_value_gradient;

  // The probabilities, of which the values' gradients are.
  const float scale = shape_.Scale();
  Multiply(scale, query, CblasNoTrans, key, CblasTrans, 0, scratch_.scores.data(),
           kKeysPerTile);
  ForEachRow(keys, [&](size_t row, const VisibleKeys& visible, float* scores) {
    ClearHidden(visible, keys, scores);
    ExponentiateRow(scores + visible.begin, visible.end - visible.begin,
                    scratch_.sum[row]);
  });
  const Matrix probabilities = Scores(scratch_.scores, keys);
  Multiply(1, probabilities, CblasTrans, output_gradient, CblasNoTrans, 1,
           ElementAt(value_gradient, keys.row, column), value_gradient.stride);

  // The scores' gradients, of which those of queries and keys are.
  Multiply(1, output_gradient, CblasNoTrans, Values(keys), CblasTrans, 0,
           scratch_.score_gradients.data(), kKeysPerTile);
  ForEachRow(keys, [&](size_t row, const VisibleKeys&, const float* scores) {
    WeighRow(scratch_.score_gradients.data() + row * kKeysPerTile, scores, keys.count,
             scratch_.delta[row]);
  });
  const Matrix gradients = Scores(scratch_.score_gradients, keys);
  Multiply(scale, gradients, CblasNoTrans, key, CblasNoTrans, 1,
           scratch_.query_gradient.data(), size());
  Multiply(scale, gradients, CblasTrans, query, CblasNoTrans, 1,
           ElementAt(key_gradient, keys.row, column), key_gradient.stride);
}

// Indices of tasks, those of a document together.
std::vector<std::vector<size_t>> ByDocument(std::span<const AttentionTask> tasks) {
  std::vector<size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [tasks](size_t a, size_t b) {
    return tasks[a].document < tasks[b].document;
  });
  std::vector<std::vector<size_t>> documents;
  for (const size_t task : order) {
    if (documents.empty() ||
        tasks[documents.back().front()].document != tasks[task].document) {
      documents.emplace_back();
    }
    documents.back().push_back(task);
  }
  return documents;
}

}  // namespace

struct CpuAttention::Threads {
  explicit Threads(size_t count) : team(count), scratch(team.size()) {}

  ThreadTeam team;
  // By thread.
  std::vector<Scratch> scratch;
};

CpuAttention::CpuAttention(size_t threads)
    : threads_(std::make_unique<Threads>(threads)) {
  // Of BLAS: the tiles are shared out here.
  openblas_set_num_threads(1);
}

CpuAttention::~CpuAttention() = default;

absl::Status CpuAttention::Forward(const AttentionCall& call,
                                   const ForwardResult& result) {
  struct Tile {
    size_t task;
    uint32_t head;
    uint32_t begin;
  };
  std::vector<Tile> tiles;
  for (size_t t = 0; t < call.tasks.size(); ++t) {
    const AttentionTask& task = call.tasks[t];
    for (uint32_t head = 0; head < call.shape.kv_heads; ++head) {
      for (uint32_t at = task.begin; at < task.end;
           at += TokensPerTile(task, call.shape)) {
        tiles.push_back({t, head, at});
      }
    }
  }
  for (Scratch& scratch : threads_->scratch) scratch.Fit(call.shape);
  threads_->team.Loop(tiles.size(), [&](size_t i, size_t thread) {
    const Tile& tile = tiles[i];
    QueryTile(call, call.tasks[tile.task], tile.head, tile.begin,
              threads_->scratch[thread])
        .Forward(result);
  });
  return absl::OkStatus();
}

absl::Status CpuAttention::Backward(const AttentionCall& call,
                                    const BackwardInput& input,
                                    const BackwardResult& result) {
  const std::vector<std::vector<size_t>> documents = ByDocument(call.tasks);
  const size_t heads = call.shape.kv_heads;
  for (Scratch& scratch : threads_->scratch) scratch.Fit(call.shape);
  threads_->team.Loop(documents.size() * heads, [&](size_t i, size_t thread) {
    const auto head = static_cast<uint32_t>(i % heads);
    for (const size_t t : documents[i / heads]) {
      const AttentionTask& task = call.tasks[t];
      for (uint32_t at = task.begin; at < task.end;
           at += TokensPerTile(task, call.shape)) {
        QueryTile(call, task, head, at, threads_->scratch[thread])
            .Backward(input, result);
      }
    }
  });
  return absl::OkStatus();
}

}  // namespace evenpack::worker
