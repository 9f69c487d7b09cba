#include "html/view/served_file.h"

namespace gprof {
namespace {

HttpAnswer Answer(const ServedFile& file, const HttpRequest& request) {
  if (!IsLoopbackHost(request.host)) return {.status = 403};
  if (request.method == "OPTIONS" && !file.origin.empty()) {
    // Browsers ask first, before a page of the internet gets something from this machine.
    return {.status = 204,
            .headers = "Access-Control-Allow-Methods: GET, HEAD\r\nAccess-Control-Allow-Private-Network: true\r\n"};
  }
  if (request.method != "GET" && request.method != "HEAD") return {.status = 405, .headers = "Allow: GET, HEAD\r\n"};
  if (request.path != file.path) return {.status = 404};
  HttpAnswer answer{.type = file.type};
  if (file.make) {
    answer.made = file.make();
  } else {
    answer.kept = file.body;
  }
  answer.ends_serving = file.is_fetched_once && request.method == "GET";
  return answer;
}

}  // namespace

HttpAnswer AnswerWith(const ServedFile& file, const HttpRequest& request) {
  HttpAnswer answer = Answer(file, request);
  if (!file.origin.empty()) answer.headers += "Access-Control-Allow-Origin: " + file.origin + "\r\nVary: Origin\r\n";
  return answer;
}

}  // namespace gprof
