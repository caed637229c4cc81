// The live page: what a browser shows of the jobs (docs/live-page.md).
#ifndef EVENPACK_SERVER_WEB_LIVE_PAGE_H_
#define EVENPACK_SERVER_WEB_LIVE_PAGE_H_

#include <span>

#include "server/web/http_pages.h"
#include "server/web/page_files.h"

namespace evenpack {

// Adds "/", which is the file index.html, and "/page", below which every file is under
// its name. Browsers ask each time whether a file has changed, load nothing from
// elsewhere, and run no script but these files. `files` outlive the pages; without an
// index.html there is no "/".
void AddLivePage(std::span<const PageFile> files, HttpPages& pages);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_WEB_LIVE_PAGE_H_
