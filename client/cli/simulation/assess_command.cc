#include "client/cli/simulation/assess_command.h"

#include "client/cli/document_lengths.h"
#include "client/cli/simulation/assessment.h"
#include "client/cli/simulation/assessment_text.h"
#include "client/cli/simulation/simulate_flags.h"

namespace evenpack {

absl::StatusOr<CommandOutput> RunAssessCommand(const FlagValues& values) {
  const absl::StatusOr<SimulateFlags> flags = ReadSimulateFlags(values);
  if (!flags.ok()) return flags.status();
  const auto documents = ReadDocumentLengths(flags->feed);
  if (!documents.ok()) return documents.status();
  const absl::StatusOr<Assessment> assessment = Assess(*flags, documents->lengths);
  if (!assessment.ok()) return assessment.status();
  return CommandOutput{IsGiven(values, "--json") ? AssessmentJson(*assessment)
                                                 : AssessmentText(*assessment),
                       documents->note + UnusedFlagsNote(UnusedSimulateFlags(
                                             values, flags->input.method))};
}

}  // namespace evenpack
