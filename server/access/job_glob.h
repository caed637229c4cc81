// Patterns over the names of jobs: '*' is any text, '?' any one character.
#ifndef EVENPACK_SERVER_ACCESS_JOB_GLOB_H_
#define EVENPACK_SERVER_ACCESS_JOB_GLOB_H_

#include <string_view>

namespace evenpack {

// The pattern that is every job, those to come as well.
inline constexpr std::string_view kAllJobs = "*";

// Whether it is 1 to 128 of what the names of jobs have, '*' and '?'.
bool IsJobGlob(std::string_view text);

// Whether all of `name` fits. Takes at most as many steps as their lengths multiplied.
bool MatchesGlob(std::string_view glob, std::string_view name);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_ACCESS_JOB_GLOB_H_
