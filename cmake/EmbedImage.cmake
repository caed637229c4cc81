# cmake -DIMAGE=file -DSOURCE=file.cc -P EmbedImage.cmake: the kernels' image as a source.
file(READ "${IMAGE}" hex HEX)
string(REGEX REPLACE "(................................)" "\\1\n" lines "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${lines}")
file(WRITE "${SOURCE}" "#include \"gpu_worker/cuda/row_kernels.h\"

namespace evenpack::worker {
namespace {

alignas(16) constexpr unsigned char kImage[] = {
${bytes}};

}  // namespace

std::span<const unsigned char> RowKernelImage() { return kImage; }

}  // namespace evenpack::worker
")
