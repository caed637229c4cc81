#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "client/cpp/micro_batch_view.h"
#include "client/python/bindings/bindings.h"
#include "client/python/bindings/columns.h"
#include "client/python/bindings/python_bytes.h"
#include "client/python/bindings/status_error.h"
#include "client/python/bindings/step_message.h"
#include "evenpack/v1/job.pb.h"
#include "evenpack/v1/step.pb.h"
#include "server/core/digest/digest_bytes.h"
#include "server/core/document/invalid_field.h"
#include "server/core/sharding/shard_plan.h"
#include "server/service/layout_names.h"

namespace evenpack::python {
namespace {

namespace nb = nanobind;
using client::MicroBatchView;

// A column owns its numbers, whichever object it was read from.
constexpr auto kAsIs = nb::rv_policy::automatic;

// LAYOUT_TE_THD is "te_thd".
std::string ShortName(const std::string& name, const char* prefix) {
  return absl::AsciiStrToLower(absl::StripPrefix(name, prefix));
}

// Slices of a rank and where they lie.
struct PlacedSlices {
  RankSlices slices;
  client::SlicePositions positions;
  std::vector<int32_t> token_indices;
};

PlacedSlices SlicesOf(const MicroBatchView& view, int64_t rank) {
  ThrowIfError(CheckRange("cp_rank", rank, 0, int64_t{view.context_parallel()} - 1));
  PlacedSlices placed;
  placed.slices = view.Slices(static_cast<uint32_t>(rank));
  placed.positions = view.PositionsOf(placed.slices);
  placed.token_indices = view.TokenIndices(placed.slices);
  return placed;
}

template <template <typename> typename Column>
using SlicesColumns = std::tuple<Column<uint32_t>, Column<uint32_t>, Column<uint32_t>,
                                 size_t, uint64_t, uint64_t, Column<int32_t>,
                                 Column<int32_t>, Column<int32_t>, Column<int32_t>>;

// What pickle takes to another process: the slices' document, begin, end,
// front_slices, tokens and padding, the three columns of where they lie, and the
// tokens' indices.
SlicesColumns<Column> StateOf(const PlacedSlices& placed) {
  const auto& [slices, positions, token_indices] = placed;
  return {ToColumn(slices.document),
          ToColumn(slices.begin),
          ToColumn(slices.end),
          slices.front_slices,
          slices.tokens,
          slices.padding,
          ToColumn(positions.sequence_begin),
          ToColumn(positions.padded_begin),
          ToColumn(positions.local_begin),
          ToColumn(token_indices)};
}

PlacedSlices OfState(const SlicesColumns<GivenColumn>& state) {
  PlacedSlices placed;
  RankSlices& slices = placed.slices;
  slices.document = FromColumn(std::get<0>(state));
  slices.begin = FromColumn(std::get<1>(state));
  slices.end = FromColumn(std::get<2>(state));
  slices.front_slices = std::get<3>(state);
  slices.tokens = std::get<4>(state);
  slices.padding = std::get<5>(state);
  placed.positions = {FromColumn(std::get<6>(state)), FromColumn(std::get<7>(state)),
                      FromColumn(std::get<8>(state))};
  placed.token_indices = FromColumn(std::get<9>(state));
  return placed;
}

void BindSlices(nb::module_& module) {
  const auto column = [](auto member) {
    return [member](const PlacedSlices& p) { return ToColumn(p.slices.*member); };
  };
  const auto position = [](auto member) {
    return [member](const PlacedSlices& p) { return ToColumn(p.positions.*member); };
  };
  nb::class_<PlacedSlices>(
      module, "Slices",
      "What one context-parallel rank computes of a micro-batch: slice i is the "
      "tokens\n"
      "begin[i] to end[i] - 1 of document[i]; its queries attend to that document's\n"
      "keys 0 to end[i] - 1. Arrays are copies, one entry a slice, in local order.\n"
      "Constant; can be pickled.")
      .def_prop_ro("document", column(&RankSlices::document), kAsIs,
                   "uint32: index of the document in the micro-batch.")
      .def_prop_ro("begin", column(&RankSlices::begin), kAsIs,
                   "uint32: first token within the document.")
      .def_prop_ro("end", column(&RankSlices::end), kAsIs,
                   "uint32: the token behind the last, within the document.")
      .def_prop_ro(
          "front_slices", [](const PlacedSlices& p) { return p.slices.front_slices; },
          "How many of the slices belong to the rank's front slot.")
      .def_prop_ro(
          "tokens", [](const PlacedSlices& p) { return p.slices.tokens; },
          "Tokens of all slices.")
      .def_prop_ro(
          "padding", [](const PlacedSlices& p) { return p.slices.padding; },
          "Padding that the rank holds besides.")
      .def_prop_ro("sequence_begin", position(&client::SlicePositions::sequence_begin),
                   kAsIs, "int32: first token in the unpadded sequence.")
      .def_prop_ro("padded_begin", position(&client::SlicePositions::padded_begin),
                   kAsIs, "int32: first token in the padded sequence.")
      .def_prop_ro("local_begin", position(&client::SlicePositions::local_begin), kAsIs,
                   "int32, one entry more: first token among the rank's own tokens,\n"
                   "then the number of these.")
      .def_prop_ro(
          "token_indices",
          [](const PlacedSlices& p) { return ToColumn(p.token_indices); }, kAsIs,
          "int32, one entry a token: its index in the unpadded sequence.")
      .def("__getstate__", &StateOf)
      .def("__setstate__",
           [](PlacedSlices& p, const SlicesColumns<GivenColumn>& state) {
             new (&p) PlacedSlices(OfState(state));
           });
}

// A column over documents.
template <typename Number>
auto OfDocuments(Number Document::*field) {
  return [field](const MicroBatchView& view) {
    std::vector<Number> column;
    column.reserve(view.documents().size());
    for (const Document& document : view.documents()) column.push_back(document.*field);
    return ToColumn(std::move(column));
  };
}

void BindDocuments(nb::class_<MicroBatchView>& micro_batch) {
  micro_batch
      .def_prop_ro(
          "documents", [](const MicroBatchView& v) { return v.documents().size(); },
          "How many documents, or pieces of documents, it has; may be 0.")
      .def_prop_ro("stream", OfDocuments(&Document::stream), kAsIs,
                   "uint32, one entry a document: index into the job's streams.")
      .def_prop_ro(
          "sequence", OfDocuments(&Document::sequence), kAsIs,
          "uint64, one entry a document: its number within the stream, from 0.")
      .def_prop_ro("id", OfDocuments(&Document::id), kAsIs,
                   "uint64, one entry a document: the producer's label.")
      .def_prop_ro("length", OfDocuments(&Document::length), kAsIs,
                   "uint32, one entry a document: tokens (of the piece).")
      .def_prop_ro("offset", OfDocuments(&Document::offset), kAsIs,
                   "uint32, one entry a document: where the piece begins within the\n"
                   "document it is of; 0 where it is whole.")
      .def_prop_ro("document_length", OfDocuments(&Document::document_length), kAsIs,
                   "uint32, one entry a document: tokens of the document it is of.")
      .def_prop_ro("document_loss_tokens", OfDocuments(&Document::loss_tokens), kAsIs,
                   "uint32, one entry a document: tokens that count in the loss.")
      .def_prop_ro("source", OfDocuments(&Document::source), kAsIs,
                   "uint32, one entry a document: the producer's number for where it\n"
                   "comes from.");
}

void BindSequence(nb::class_<MicroBatchView>& micro_batch) {
  micro_batch
      .def_prop_ro(
          "cu_seqlens",
          [](const MicroBatchView& v) { return ToColumn(v.cu_seqlens()); }, kAsIs,
          "int32 [documents + 1]: first token of each document in the unpadded\n"
          "sequence, then the number of tokens.")
      .def_prop_ro(
          "cu_seqlens_padded",
          [](const MicroBatchView& v) { return ToColumn(v.cu_seqlens_padded()); },
          kAsIs,
          "int32 [documents + 1]: the same in the padded sequence, where a document's\n"
          "padding counts to its length.")
      .def_prop_ro("max_seqlen", &MicroBatchView::max_seqlen,
                   "Tokens of the longest document, 0 where there is none.")
      .def_prop_ro("max_seqlen_padded", &MicroBatchView::max_seqlen_padded,
                   "The same with padding.")
      .def_prop_ro(
          "position_ids",
          [](const MicroBatchView& v) { return ToColumn(v.PositionIds()); }, kAsIs,
          "int32 [tokens]: position within the document, from 0 in each.")
      .def_prop_ro(
          "padded_position_ids",
          [](const MicroBatchView& v) { return ToColumn(v.PaddedPositionIds()); },
          kAsIs, "int32 [padded_tokens]: the same, counting on through padding.")
      .def_prop_ro("tokens", &MicroBatchView::tokens, "Tokens without padding.")
      .def_prop_ro("padding", &MicroBatchView::padding, "Tokens of padding.")
      .def_prop_ro("padded_tokens", &MicroBatchView::padded_tokens, "tokens + padding.")
      .def_prop_ro("loss_tokens", &MicroBatchView::loss_tokens,
                   "Tokens that count in the loss.")
      .def_prop_ro("sum_squared_lengths", &MicroBatchView::sum_squared_lengths,
                   "Over documents, of their lengths.")
      .def_prop_ro("workload_ns", &MicroBatchView::workload_ns,
                   "Predicted forward pass, nanoseconds.");
}

void BindPlan(nb::class_<MicroBatchView>& micro_batch) {
  micro_batch
      .def_prop_ro(
          "layout",
          [](const MicroBatchView& v) {
            return ShortName(v1::Layout_Name(v.layout()), "LAYOUT_");
          },
          "The job's consumer layout: 'native', 'megatron_thd', 'te_thd',\n"
          "'pytorch_cp', 'ring_llama3' or 'hf_flat'.")
      .def_prop_ro(
          "sharding",
          [](const MicroBatchView& v) {
            return ShortName(v1::Sharding_Name(ToProto(v.sharding())), "SHARDING_");
          },
          "How it is cut over the context-parallel group: 'per_sequence',\n"
          "'per_document', 'contiguous' or 'hybrid'.")
      .def_prop_ro("context_parallel", &MicroBatchView::context_parallel,
                   "Ranks that share it.")
      .def_prop_ro(
          "rank_tokens",
          [](const MicroBatchView& v) { return ToColumn(v.rank_tokens()); }, kAsIs,
          "uint64 [context_parallel]: tokens of each rank.")
      .def_prop_ro(
          "rank_padding",
          [](const MicroBatchView& v) { return ToColumn(v.rank_padding()); }, kAsIs,
          "uint64 [context_parallel]: padding that each rank holds besides.")
      .def_prop_ro("cp_rank", &MicroBatchView::cp_rank,
                   "The rank whose slices came with the step; None where none was\n"
                   "asked for.")
      .def_prop_ro(
          "token_ids",
          [](const MicroBatchView& v) -> std::optional<Column<uint32_t>> {
            if (!v.has_token_ids()) return std::nullopt;
            return ToColumn(v.token_ids());
          },
          kAsIs,
          "uint32, without padding, where the job's payload travels by value: with a\n"
          "cp_rank, of that rank's tokens in local order; else of all documents one\n"
          "after another. None where there are tokens and their ids did not come.")
      .def_prop_ro("plan", &MicroBatchView::plan, nb::rv_policy::reference_internal,
                   "Which tokens each rank of the context-parallel group computes.")
      .def("slices", &SlicesOf, nb::arg("cp_rank"),
           "The slices of any rank, computed from the plan. InvalidArgumentError: no\n"
           "such rank.")
      .def_prop_ro(
          "digest",
          [](const MicroBatchView& v) { return ToBytes(DigestBytes(v.digest())); },
          "16 bytes, over documents, tokens and padding.");
}

// Layout and message: what pickle takes to another process, without the step.
using MicroBatchState = std::tuple<int, nb::bytes>;

MicroBatchView OfState(const MicroBatchState& state) {
  const auto& [layout, bytes] = state;
  v1::MicroBatch message;
  if (!message.ParseFromArray(bytes.c_str(), static_cast<int>(bytes.size()))) {
    throw StatusError(absl::DataLossError("the bytes are no evenpack.v1.MicroBatch"));
  }
  return ValueOrThrow(
      MicroBatchView::FromMessage(message, static_cast<v1::Layout>(layout)));
}

void BindState(nb::class_<MicroBatchView>& micro_batch) {
  micro_batch
      .def("__getstate__",
           [](const MicroBatchView& v) {
             return MicroBatchState(v.layout(), Serialized(MessageOf(v)));
           })
      .def("__setstate__", [](MicroBatchView& v, const MicroBatchState& state) {
        new (&v) MicroBatchView(OfState(state));
      });
}

}  // namespace

void BindMicroBatches(nb::module_& module) {
  BindSlices(module);
  const nb::class_<ShardPlan> plan(
      module, "ShardPlan",
      "Which tokens of a micro-batch each rank of a context-parallel\n"
      "group computes: for evenpack's own modules.");
  nb::class_<MicroBatchView> micro_batch(
      module, "MicroBatch",
      "One micro-batch: documents laid one after another (the unpadded sequence), or\n"
      "with the padding that the job's layout asks for (the padded one), and how they\n"
      "are cut over a context-parallel group. Arrays are copies. Constant; can be\n"
      "pickled, without its step.");
  micro_batch.def_prop_ro("index", &MicroBatchView::index, "Within the step.");
  BindDocuments(micro_batch);
  BindSequence(micro_batch);
  BindPlan(micro_batch);
  BindState(micro_batch);
}

}  // namespace evenpack::python
