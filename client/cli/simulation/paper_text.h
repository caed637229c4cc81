// The paper's tables as JSON and as text: paper_reports.h.
#ifndef EVENPACK_CLIENT_CLI_SIMULATION_PAPER_TEXT_H_
#define EVENPACK_CLIENT_CLI_SIMULATION_PAPER_TEXT_H_

#include <span>
#include <string>

#include "client/cli/simulation/paper_reports.h"

namespace evenpack {

std::string PaperJson(std::span<const PaperRow> rows);
std::string PaperText(std::span<const PaperRow> rows);

std::string WindowsJson(std::span<const WindowRow> rows);
std::string WindowsText(std::span<const WindowRow> rows);

std::string SpeedupsJson(std::span<const PublishedSpeedup> rows);
std::string SpeedupsText(std::span<const PublishedSpeedup> rows);

std::string PackingJson(std::span<const PackingRow> rows);
std::string PackingText(std::span<const PackingRow> rows);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_SIMULATION_PAPER_TEXT_H_
