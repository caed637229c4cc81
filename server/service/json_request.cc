#include "server/service/json_request.h"

#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/utf8_text.h"

namespace evenpack {
namespace {

// Digits and nothing else, which absl's readers are more lenient about.
template <typename Integer>
absl::Status ReadNumber(absl::string_view field, const std::string& text,
                        Integer& number) {
  const bool digits =
      !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  if (digits && absl::SimpleAtoi(text, &number)) return absl::OkStatus();
  return InvalidField(
      field, absl::StrCat("'", text, "'"),
      absl::StrCat("a number from 0 to ", std::numeric_limits<Integer>::max()));
}

// The parameters of a query, each to be taken once.
class QueryReader {
 public:
  explicit QueryReader(const HttpRequest& request) : query_(request.query) {}

  // As it was where the parameter isn't there.
  template <typename Integer>
  void Take(const char* name, Integer& number) {
    std::string text;
    if (TakeText(name, text)) status_.Update(ReadNumber(name, text, number));
  }
  // Whether it is there.
  bool TakeText(const char* name, std::string& text) {
    const auto [begin, end] = query_.equal_range(name);
    if (begin == end) return false;
    if (std::next(begin) != end) {
      status_.Update(InvalidField(name, "several values", "one"));
    }
    text = begin->second;
    query_.erase(begin, end);
    return true;
  }
  // After all were taken.
  absl::Status status() const {
    if (!status_.ok() || query_.empty()) return status_;
    return InvalidField(query_.begin()->first, "a parameter that isn't known",
                        "those of docs/live-page.md");
  }

 private:
  std::multimap<std::string, std::string> query_;
  absl::Status status_;
};

// Jobs have names of ASCII, and no message can have a text that is no UTF-8: not even
// one that says that there is no such job.
absl::Status CheckUtf8(absl::string_view field, const std::string& text) {
  if (IsUtf8(text)) return absl::OkStatus();
  return InvalidField(field, absl::StrCat("'", absl::CHexEscape(text), "'"), "UTF-8");
}

absl::Status CheckUtf8(const HttpRequest& request) {
  absl::Status status = CheckUtf8("path", request.path);
  for (const auto& [name, value] : request.query) {
    status.Update(CheckUtf8("query", name));
    status.Update(CheckUtf8(name, value));
  }
  return status;
}

absl::StatusOr<JsonRequest> ReadList(const HttpRequest& request) {
  v1::ListJobsRequest list;
  QueryReader query(request);
  int32_t page_size = 0;
  query.Take("page_size", page_size);
  list.set_page_size(page_size);
  query.TakeText("page_token", *list.mutable_page_token());
  if (!query.status().ok()) return query.status();
  return list;
}

absl::StatusOr<JsonRequest> ReadJob(const HttpRequest& request,
                                    const std::string& name) {
  v1::ObserveJobRequest observe;
  observe.set_job(name);
  QueryReader query(request);
  uint32_t steps = 0;
  uint64_t from_step = 0;
  query.Take("steps", steps);
  query.Take("from_step", from_step);
  observe.set_steps(steps);
  observe.set_from_step(from_step);
  if (!query.status().ok()) return query.status();
  return observe;
}

absl::StatusOr<JsonRequest> ReadMicroBatch(const HttpRequest& request,
                                           const std::vector<std::string>& parts) {
  v1::ObserveMicroBatchRequest observe;
  observe.set_job(parts[0]);
  uint64_t step = 0;
  uint32_t micro_batch = 0;
  absl::Status status = ReadNumber("step", parts[2], step);
  status.Update(ReadNumber("micro_batch", parts[4], micro_batch));
  status.Update(QueryReader(request).status());
  if (!status.ok()) return status;
  observe.set_step(step);
  observe.set_micro_batch(micro_batch);
  return observe;
}

}  // namespace

absl::StatusOr<JsonRequest> ReadJsonRequest(const HttpRequest& request) {
  if (absl::Status status = CheckUtf8(request); !status.ok()) return status;
  const absl::string_view path = request.path;
  if (path == absl::string_view(kJsonFolder.data(), kJsonFolder.size())) {
    return ReadList(request);
  }
  if (path.size() > kJsonFolder.size()) {
    const std::vector<std::string> parts =
        absl::StrSplit(path.substr(kJsonFolder.size() + 1), '/');
    if (parts.size() == 1 && !parts[0].empty()) return ReadJob(request, parts[0]);
    if (parts.size() == 5 && parts[1] == "steps" && parts[3] == "micro-batches") {
      return ReadMicroBatch(request, parts);
    }
  }
  return absl::NotFoundError(absl::StrCat(
      "path: '", path, "' is none that there is; accepted: ", std::string(kJsonFolder),
      "[/JOB[/steps/K/micro-batches/I]]"));
}

}  // namespace evenpack
