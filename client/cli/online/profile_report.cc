#include "client/cli/online/profile_report.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "client/cli/json_text.h"
#include "client/cli/online/message_json.h"
#include "client/cli/online/report_line.h"
#include "client/cli/text_table.h"
#include "evenpack/v1/cost_profile.pb.h"

namespace evenpack {
namespace {

std::string HeadsText(const v1::CostProfile& profile) {
  const v1::AttentionHeads& heads = profile.heads();
  return absl::StrCat(heads.query_heads(), ":", heads.kv_heads(), " x ",
                      heads.head_size());
}

// "ELEMENT_TYPE_FLOAT32" as "float32".
std::string TypeText(const v1::CostProfile& profile) {
  const std::string name = v1::ElementType_Name(profile.element_type());
  return absl::AsciiStrToLower(absl::StripPrefix(name, "ELEMENT_TYPE_"));
}

std::string TimeText(const v1::CostProfile& profile) {
  if (profile.measured_unix_seconds() == 0) return "unknown";
  return absl::FormatTime("%Y-%m-%d %H:%M UTC",
                          absl::FromUnixSeconds(profile.measured_unix_seconds()),
                          absl::UTCTimeZone());
}

std::string LatencyText(const std::string& pass, const v1::KernelLatency& latency) {
  std::vector<TextTable::Column> columns = {{"q_len"}};
  for (const uint32_t kv_len : latency.kv_lens()) {
    columns.push_back({absl::StrCat("kv ", kv_len)});
  }
  TextTable table(std::move(columns));
  for (int i = 0; i < latency.q_lens_size(); ++i) {
    std::vector<std::string> row = {absl::StrCat(latency.q_lens(i))};
    for (int j = 0; j < latency.kv_lens_size(); ++j) {
      const int at = i * latency.kv_lens_size() + j;
      const bool measured = latency.kv_lens(j) >= latency.q_lens(i);
      row.push_back(measured ? Microseconds(latency.slice_ns(at)) : "");
    }
    table.AddRow(std::move(row));
  }
  return absl::StrCat("\n", pass, " of a slice, us; ", latency.launch_ns(),
                      " ns a launch on top\n", table.ToString());
}

std::string CollectivesText(const v1::CostProfile& profile) {
  if (profile.collectives().empty()) return "";
  TextTable table({{"ranks"}, {"bytes"}, {"us"}, {"GB/s"}});
  for (const v1::CollectiveLatency& collective : profile.collectives()) {
    for (int i = 0; i < collective.bytes_size(); ++i) {
      const int64_t ns = collective.latency_ns(i);
      const double rate =
          static_cast<double>(collective.bytes(i)) / static_cast<double>(ns);
      table.AddRow({absl::StrCat(collective.ranks()), Grouped(collective.bytes(i)),
                    Microseconds(ns), ns > 0 ? absl::StrFormat("%.3f", rate) : ""});
    }
  }
  return absl::StrCat("\nexchange, by what each rank receives\n", table.ToString());
}

}  // namespace

std::string ProfileText(const v1::CostProfile& profile) {
  return absl::StrCat(
      ReportLine("profile", profile.name()), ReportLine("hardware", profile.hardware()),
      ReportLine("kernel", profile.kernel()),
      ReportLine("heads", absl::StrCat(HeadsText(profile), ", ", TypeText(profile))),
      ReportLine("measured", TimeText(profile)),
      LatencyText("forward", profile.forward()),
      profile.has_backward() ? LatencyText("backward", profile.backward()) : "",
      CollectivesText(profile));
}

std::string ProfileJson(const v1::CostProfile& profile) {
  return JsonText(MessageJson(profile));
}

std::string ProfilesText(const v1::ListCostProfilesResponse& listed) {
  TextTable table({{"profile", kLeft},
                   {"hardware", kLeft},
                   {"kernel", kLeft},
                   {"heads", kLeft},
                   {"elements", kLeft},
                   {"measured", kLeft}});
  for (const v1::CostProfile& profile : listed.profiles()) {
    table.AddRow({profile.name(), profile.hardware(), profile.kernel(),
                  HeadsText(profile), TypeText(profile), TimeText(profile)});
  }
  std::string text = table.ToString();
  for (const v1::BrokenCostProfile& profile : listed.broken_profiles()) {
    absl::StrAppend(&text, profile.name(), " is broken: ", profile.error(), "\n");
  }
  return text;
}

std::string ProfilesJson(const v1::ListCostProfilesResponse& listed) {
  Json profiles = Json::array();
  for (const v1::CostProfile& profile : listed.profiles()) {
    profiles.push_back(MessageJson(profile));
    // A list has none of the tables.
    profiles.back().erase("collectives");
  }
  Json broken = Json::array();
  for (const v1::BrokenCostProfile& profile : listed.broken_profiles()) {
    broken.push_back(MessageJson(profile));
  }
  return JsonText(
      {{"profiles", std::move(profiles)}, {"broken_profiles", std::move(broken)}});
}

}  // namespace evenpack
