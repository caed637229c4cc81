#include "server/service/batch_conversion.h"

#include <array>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "evenpack/v1/packing_service.pb.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/request_limits.h"
#include "server/service/field_path.h"

namespace evenpack {

absl::StatusOr<Ingest> FromProto(const std::string& stream,
                                 const v1::DocumentBatch& from) {
  if (from.length().empty()) {
    return InvalidField("batch.length", "no value", "at least one document");
  }
  if (const auto documents = static_cast<size_t>(from.length_size());
      documents > kMaxBatchDocuments) {
    return InvalidField("batch.length", absl::StrCat(documents, " documents"),
                        absl::StrCat("at most ", kMaxBatchDocuments, " documents"));
  }
  Ingest ingest;
  ingest.stream = stream;
  ingest.first_sequence = from.first_sequence();
  ingest.lengths = {from.length().begin(), from.length().end()};
  ingest.ids = {from.id().begin(), from.id().end()};
  ingest.loss_tokens = {from.loss_tokens().begin(), from.loss_tokens().end()};
  ingest.sources = {from.source().begin(), from.source().end()};
  ingest.token_ids = from.token_ids();
  if (from.has_token_file()) {
    if (!from.token_ids().empty()) {
      return InvalidField("batch.token_file", "one beside token_ids", "one of the two");
    }
    const v1::TokenFile& file = from.token_file();
    ingest.token_file = {
        file.path(), file.token_bytes(), {file.offset().begin(), file.offset().end()}};
  }
  return ingest;
}

absl::Status InBatchNames(const absl::Status& status) {
  constexpr std::array<std::pair<absl::string_view, absl::string_view>, 3> kColumns = {
      {{"lengths", "length"}, {"ids", "id"}, {"sources", "source"}}};
  const std::string field = RefusedField(status);
  const absl::string_view name = absl::string_view(field).substr(0, field.find('['));
  const absl::string_view element = absl::string_view(field).substr(name.size());
  for (const auto& [engine, api] : kColumns) {
    if (name == engine) return Renamed(absl::StrCat("batch.", api, element), status);
  }
  return Under("batch", status);
}

}  // namespace evenpack
