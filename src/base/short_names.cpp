#include "base/short_names.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/demangle.h"
#include "base/text.h"

namespace gprof {
namespace {

constexpr std::size_t kLongestDifference = 64;  // bytes of it that are shown

using Group = std::vector<std::string>;  // different texts

bool IsWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '#' || (c & 0x80) != 0;
}

std::size_t SameBytes(const Group& texts) {
  const std::string& a = texts.front();
  std::size_t same = a.size();
  for (const std::string& b : texts) {
    const auto at =
        std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(same, b.size())), b.begin());
    same = static_cast<std::size_t>(at.first - a.begin());
  }
  return same;
}

// Bytes that all have in common at the beginning, up to the beginning of a word.
std::size_t CommonStart(const Group& texts) {
  std::size_t same = SameBytes(texts);
  while (same > 0 && IsWord(texts.front()[same - 1])) --same;
  return same;
}

// Bytes that all have in common at the end, beyond the first `start`, from the end of a word.
std::size_t CommonEnd(const Group& texts, std::size_t start) {
  const std::string& a = texts.front();
  std::size_t same = a.size() - start;
  for (const std::string& b : texts) {
    std::size_t length = 0;
    while (length < std::min(same, b.size() - start) && a[a.size() - 1 - length] == b[b.size() - 1 - length]) ++length;
    same = length;
  }
  while (same > 0 && IsWord(a[a.size() - same])) --same;
  return same;
}

// "at::native::FillFunctor<float>" → "FillFunctor<float>"
std::string WithoutNamespaces(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "::") {
      constexpr std::string_view kUnnamed = "(anonymous namespace)";
      if (out.ends_with(kUnnamed)) out.resize(out.size() - kUnnamed.size());
      while (!out.empty() && IsWord(out.back())) out.pop_back();
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool AreApart(const std::vector<std::string>& texts) {
  return std::set<std::string>(texts.begin(), texts.end()).size() == texts.size();
}

// "void f<A>(A)" → "void f<A>": parameters repeat template arguments as a rule.
std::string WithoutParameters(const std::string& text) {
  std::size_t depth = 0;
  for (std::size_t i = text.size(); text.ends_with(')') && i-- > 0;) {
    if (text[i] == ')') ++depth;
    if (text[i] == '(' && --depth == 0) return i == 0 ? text : text.substr(0, i);
  }
  return text;
}

// What each has that the others have not.
std::vector<std::string> Differences(const Group& signatures) {
  Group full;
  for (const std::string& signature : signatures) full.push_back(WithoutParameters(signature));
  if (!AreApart(full)) full = signatures;
  const std::size_t start = CommonStart(full), end = CommonEnd(full, start);
  std::vector<std::string> whole, plain, cut;
  for (const std::string& text : full) {
    whole.push_back(text.substr(start, text.size() - start - end));
    plain.push_back(WithoutNamespaces(whole.back()));
    cut.push_back(ShortenMiddle(Printable(plain.back()), kLongestDifference));
  }
  return AreApart(cut) ? cut : AreApart(plain) ? plain : whole;
}

std::size_t CommonColumns(const Group& texts) {
  const std::string& a = texts.front();
  std::size_t same = SameBytes(texts);
  while (same > 0 && same < a.size() && (a[same] & 0xC0) == 0x80) --same;  // not within a character
  return same;
}

// A beginning, and from where they differ on.
std::string CutBeforeDifference(const std::string& text, std::size_t same, std::size_t width) {
  constexpr std::size_t kBefore = 4;  // bytes before the difference that are shown, too
  std::size_t from = same > kBefore ? same - kBefore : 0;
  while (from > 0 && (text[from] & 0xC0) == 0x80) --from;
  const std::string rest = text.substr(from);
  const std::size_t head = width / 3;
  if (from <= head || width < 8) return ShortenMiddle(text, width);
  // ShortenMiddle keeps both ends, of which the beginning is the half that is wanted here.
  const std::string start = ShortenMiddle(text, 2 * head + 1);
  const std::string first = start.substr(0, start.find("…"));
  return first + "…" + ShortenMiddle(rest, width - DisplayWidth(first) - 1);
}

std::map<std::string, std::string> CutApart(const std::set<std::string>& texts, std::size_t width) {
  std::map<std::string, Group> alike;
  for (const std::string& text : texts) alike[ShortenMiddle(text, width)].push_back(text);
  std::map<std::string, std::string> cut;
  std::set<std::string> taken;
  for (const auto& [shown, group] : alike) {
    if (group.size() == 1) taken.insert(cut[group.front()] = shown);
  }
  for (const auto& [shown, group] : alike) {
    if (group.size() == 1) continue;
    const std::size_t same = CommonColumns(group);
    std::size_t number = 0;
    for (const std::string& text : group) {
      ++number;
      std::string tried = CutBeforeDifference(text, same, width);
      for (; !taken.insert(tried).second; ++number) {
        const std::string mark = "#" + std::to_string(number);
        tried = ShortenMiddle(text, width > mark.size() ? width - mark.size() : 1) + mark;
      }
      cut[text] = std::move(tried);
    }
  }
  return cut;
}

}  // namespace

std::vector<std::string> ShortNames(const std::vector<std::string>& names) {
  std::map<std::string, std::string> short_of;
  std::map<std::string, std::set<std::string>> alike;
  for (const std::string& name : names) alike[ShortName(name)].insert(Demangle(name));
  for (const auto& [shown, members] : alike) {
    const Group group(members.begin(), members.end());
    if (group.size() == 1) {
      short_of[group.front()] = shown;
      continue;
    }
    const std::vector<std::string> differences = Differences(group);
    for (std::size_t i = 0; i < group.size(); ++i) short_of[group[i]] = shown + "<…" + differences[i] + "…>";
  }
  std::vector<std::string> shortened;
  for (const std::string& name : names) shortened.push_back(short_of[Demangle(name)]);
  return shortened;
}

std::vector<std::string> BriefNames(const std::vector<std::string>& names) {
  constexpr std::size_t kColumns = 40;
  std::vector<std::string> shortened = ShortNames(names), brief;
  for (std::string& name : shortened) brief.push_back(Printable(WithoutNamespaces(name = Printable(name))));
  const auto different = [](const std::vector<std::string>& texts) {
    return std::set<std::string>(texts.begin(), texts.end()).size();
  };
  return ShortenApart(different(brief) == different(shortened) ? brief : shortened, kColumns);
}

std::string BriefName(const std::string& name) { return BriefNames({name}).front(); }

std::vector<std::string> ShortenApart(const std::vector<std::string>& texts, std::size_t width) {
  const auto fits = [width](const std::string& text) { return DisplayWidth(text) <= width; };
  if (std::all_of(texts.begin(), texts.end(), fits)) return texts;
  const std::map<std::string, std::string> cut = CutApart(std::set<std::string>(texts.begin(), texts.end()), width);
  std::vector<std::string> shortened;
  for (const std::string& text : texts) shortened.push_back(cut.at(text));
  return shortened;
}

}  // namespace gprof
