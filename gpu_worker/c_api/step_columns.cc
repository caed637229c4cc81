#include "gpu_worker/c_api/step_columns.h"

#include <algorithm>
#include <string>

#include "server/core/digest/digest_bytes.h"

namespace evenpack::worker {
namespace {

EvenpackDocument Shown(const Document& document) {
  EvenpackDocument shown;
  shown.sequence = document.sequence;
  shown.id = document.id;
  shown.stream = document.stream;
  shown.source = document.source;
  shown.offset = document.offset;
  shown.length = document.length;
  shown.document_length = document.document_length;
  shown.loss_tokens = document.loss_tokens;
  return shown;
}

}  // namespace

void ShowStep(const client::RankStep& step, EvenpackStep& shown) {
  shown.drained = 0;
  shown.micro_batches = static_cast<uint32_t>(step.micro_batches().size());
  shown.index = step.index();
  shown.epoch = step.epoch();
  shown.loss_tokens = step.totals().loss_tokens;
  const std::string digest = DigestBytes(step.digest());
  static_assert(sizeof(shown.digest) == kDigestBytes);
  std::copy(digest.begin(), digest.end(), shown.digest);
}

MicroBatchColumns ColumnsOf(const client::MicroBatchView& view, uint32_t cp_rank) {
  MicroBatchColumns columns;
  for (const Document& document : view.documents()) {
    columns.documents.push_back(Shown(document));
  }
  const RankSlices slices = view.Slices(cp_rank);
  for (size_t i = 0; i < slices.document.size(); ++i) {
    columns.slices.push_back({slices.document[i], slices.begin[i], slices.end[i]});
  }
  columns.tokens = slices.tokens;
  columns.padding = slices.padding;
  return columns;
}

void ShowMicroBatch(const client::MicroBatchView& view,
                    const MicroBatchColumns& columns, EvenpackMicroBatch& shown) {
  shown.index = view.index();
  shown.tokens = columns.tokens;
  shown.padding = columns.padding;
  shown.documents = columns.documents.size();
  shown.document = columns.documents.data();
  shown.slices = columns.slices.size();
  shown.slice = columns.slices.data();
  shown.token_ids = view.has_token_ids() ? view.token_ids().data() : nullptr;
}

}  // namespace evenpack::worker
