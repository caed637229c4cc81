// YAML of which all is read or nothing: YAML::Load passes over what stands behind the
// first document.
#ifndef EVENPACK_SERVER_YAML_ONE_DOCUMENT_H_
#define EVENPACK_SERVER_YAML_ONE_DOCUMENT_H_

#include <yaml-cpp/yaml.h>

#include <string>

namespace evenpack {

// As YAML::Load, null where there is no document. Throws a YAML::Exception, with the
// place, for what is no YAML, and for a second document, even an empty one.
YAML::Node LoadOneDocument(const std::string& text);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_YAML_ONE_DOCUMENT_H_
