#include "server/yaml/one_document.h"

#include <yaml-cpp/eventhandler.h>

#include <sstream>

namespace evenpack {
namespace {

// Keeps where the last document begins, and nothing of what is in it.
class DocumentStart final : public YAML::EventHandler {
 public:
  const YAML::Mark& mark() const { return mark_; }

  void OnDocumentStart(const YAML::Mark& mark) override { mark_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  YAML::Mark mark_;
};

// Two at most: of broken text the parser makes documents without end, as
// YAML::LoadAll shows.
void RefuseSecondDocument(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStart start;
  if (parser.HandleNextDocument(start) && parser.HandleNextDocument(start)) {
    throw YAML::ParserException(start.mark(), "a second document; accepted: one");
  }
}

}  // namespace

YAML::Node LoadOneDocument(const std::string& text) {
  YAML::Node document = YAML::Load(text);
  RefuseSecondDocument(text);
  return document;
}

}  // namespace evenpack
