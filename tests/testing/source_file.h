#pragma once

#include <string>
#include <string_view>

namespace evenpack::testing {

// The absolute path of a file or folder of the repository, given from its root. Here
// alone the root is known when it is compiled: what ccache has of a test is of use in
// another clone.
std::string SourceFile(std::string_view path);

}  // namespace evenpack::testing
