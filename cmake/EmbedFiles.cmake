# cmake -DFOLDER=folder -DFILES=a;b -DSOURCE=file.cc -P EmbedFiles.cmake: files of the live
# page as a source. The same files give the same bytes.
set(arrays "")
set(rows "")
set(number 0)
foreach(name IN LISTS FILES)
  file(READ "${FOLDER}/${name}" hex HEX)
  file(SHA256 "${FOLDER}/${name}" hash)
  string(SUBSTRING "${hash}" 0 16 tag)
  string(LENGTH "${hex}" digits)
  math(EXPR size "${digits} / 2")
  string(REGEX REPLACE "(................................)" "\\1\n" lines "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${lines}")
  # The last one, so that an empty file is an array too.
  string(APPEND arrays "constexpr unsigned char kFile${number}[] = {\n${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", \"\\\"${tag}\\\"\", {kFile${number}, ${size}}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE "${SOURCE}" "#include \"server/web/page_files.h\"

namespace evenpack {
namespace {

${arrays}
constexpr PageFile kPageFiles[] = {
${rows}};

}  // namespace

std::span<const PageFile> PageFiles() { return kPageFiles; }

}  // namespace evenpack
")
