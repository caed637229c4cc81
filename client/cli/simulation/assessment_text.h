// An assessment as JSON and as a page of text.
#ifndef EVENPACK_CLIENT_CLI_SIMULATION_ASSESSMENT_TEXT_H_
#define EVENPACK_CLIENT_CLI_SIMULATION_ASSESSMENT_TEXT_H_

#include <string>

#include "client/cli/simulation/assessment.h"

namespace evenpack {

std::string AssessmentJson(const Assessment& assessment);
std::string AssessmentText(const Assessment& assessment);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_SIMULATION_ASSESSMENT_TEXT_H_
