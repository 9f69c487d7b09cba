# cmake -DSTYLE=… -DBOOT=… -DSCRIPT=… -DTEMPLATE=… -DOUTPUT=… -P embed.cmake: the definition of kPageParts (page_parts.h) as C++.
get_filename_component(work "${OUTPUT}" DIRECTORY)
set(all "${work}/page.all")
execute_process(COMMAND "${CMAKE_COMMAND}" -E cat "${STYLE}" "${BOOT}" "${SCRIPT}" "${TEMPLATE}" OUTPUT_FILE "${all}"
                COMMAND_ERROR_IS_FATAL ANY)
# zstd rather than gzip, which would have the time of the build in it.
file(ARCHIVE_CREATE OUTPUT "${all}.zst" PATHS "${all}" FORMAT raw COMPRESSION Zstd COMPRESSION_LEVEL 9)

foreach(part STYLE BOOT SCRIPT TEMPLATE)
  file(SIZE "${${part}}" ${part}_bytes)
  file(SHA256 "${${part}}" ${part}_hash)
endforeach()
file(SIZE "${all}.zst" compressed_bytes)
file(READ "${all}.zst" hex HEX)
string(REGEX REPLACE "(................................................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE "${OUTPUT}" "// Written by src/html/embed.cmake.
#include \"html/page/page_parts.h\"

namespace gprof {
namespace {

constexpr unsigned char kCompressed[] = {
${bytes}
};

}  // namespace

const PageParts kPageParts = {kCompressed, ${compressed_bytes}, ${STYLE_bytes}, ${BOOT_bytes}, ${SCRIPT_bytes}, ${TEMPLATE_bytes},
                              \"${STYLE_hash}\",
                              \"${BOOT_hash}\",
                              \"${SCRIPT_hash}\"};

}  // namespace gprof
")
