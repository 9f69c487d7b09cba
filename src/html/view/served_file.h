// One file for browsers on this machine.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/http/http_server.h"

namespace gprof {

struct ServedFile {
  std::string path;    // "/name", all that is there; anything else is not found
  std::string type;    // Content-Type
  std::string origin;  // a page of this origin may read it, too (CORS); empty: none
  std::string_view body;
  std::function<std::string()> make{};  // made anew for each request, instead of `body`
  bool is_fetched_once = false;         // serving ends when it was
};

HttpAnswer AnswerWith(const ServedFile& file, const HttpRequest& request);

}  // namespace gprof
