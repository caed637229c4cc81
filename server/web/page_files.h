// The files of the live page, server/web/page/*, as they were when the program was
// built.
#ifndef EVENPACK_SERVER_WEB_PAGE_FILES_H_
#define EVENPACK_SERVER_WEB_PAGE_FILES_H_

#include <span>
#include <string_view>

namespace evenpack {

struct PageFile {
  std::string_view name;
  // Changes with the bytes; in quotes, as HTTP has it.
  std::string_view entity_tag;
  std::span<const unsigned char> bytes;
};

// By name.
std::span<const PageFile> PageFiles();

}  // namespace evenpack

#endif  // EVENPACK_SERVER_WEB_PAGE_FILES_H_
