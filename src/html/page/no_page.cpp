// A build with GPROF_BUILD_HTML=OFF: there is no page.
#include "html/page/page_parts.h"

namespace gprof {

const PageParts kPageParts = {};

}  // namespace gprof
