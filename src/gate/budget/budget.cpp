#include "gate/budget/budget.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <utility>

#include "base/text.h"
#include "gate/budget/commented_json.h"
#include "gate/budget/rule_words.h"
#include "gate/budget/value_text.h"
#include "gprof/error.h"

namespace gprof {
namespace {

constexpr std::array<std::string_view, 6> kBudgetKeys = {"$schema", "schema", "name", "baseline", "step", "rules"};
constexpr std::array<std::string_view, 10> kRuleKeys = {"max",          "min", "equals",   "warn",   "max_increase",
                                                        "max_decrease", "and", "severity", "reason", "allow_missing"};

using Kind = JsonValue::Kind;

class BudgetReader {
 public:
  explicit BudgetReader(const std::string& path) : path_(path) {}

  Budget Read(const JsonValue& root) {
    Want(root, Kind::kObject, "a budget");
    CheckKeys(root, kBudgetKeys, "a budget");
    CheckSchema(root);
    Budget budget;
    budget.name = TextAt(root, "name", std::filesystem::path(path_).filename().string());
    budget.step = TextAt(root, "step", "");
    const std::string baseline = TextAt(root, "baseline", "");
    if (!baseline.empty())
      budget.baseline = (std::filesystem::path(path_).parent_path() / baseline).lexically_normal().string();
    const JsonMember* rules = root.Find("rules");
    if (rules == nullptr) Fail(root.line, "a budget needs \"rules\"", "\"rules\": { \"memcpy.pageable_bytes\": 0 }");
    Want(rules->value, Kind::kObject, "\"rules\"");
    for (const JsonMember& member : rules->value.members) AddRules(member);
    if (rules_.empty())
      Fail(rules->line, "\"rules\" is empty", "gprof-cli check TRACE --init creates a budget from a trace");
    budget.rules = std::move(rules_);
    return budget;
  }

 private:
  [[noreturn]] void Fail(uint32_t line, const std::string& what, const std::string& hint = {}) const {
    throw Error(ExitCode::kUsage, path_ + ":" + std::to_string(line) + ": " + what, hint);
  }

  void Want(const JsonValue& value, Kind kind, const std::string& what) const {
    if (value.kind == kind) return;
    Fail(value.line, what + " must be " + std::string(NameOf(kind)) + ", not " + std::string(NameOf(value.kind)));
  }

  template <std::size_t N>
  void CheckKeys(const JsonValue& value, const std::array<std::string_view, N>& known, const std::string& what) const {
    for (const JsonMember& member : value.members) {
      if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
      const std::vector<std::string> names(known.begin(), known.end());
      // A rule that stands beside "rules" is the usual slip.
      const bool is_rule = FindMetric(member.key.substr(0, member.key.find('@'))) != nullptr;
      Fail(member.line, "\"" + Printable(member.key) + "\" is not a known key of " + what,
           is_rule ? "metrics belong in \"rules\"" : NearestHint(member.key, names, "available: " + Joined(names)));
    }
  }

  void CheckSchema(const JsonValue& root) const {
    const std::string schema = TextAt(root, "schema", std::string(kBudgetSchema));
    if (schema == kBudgetSchema) return;
    Fail(root.Find("schema")->line,
         "the schema is '" + Printable(schema) + "', this gprof-cli reads " + std::string(kBudgetSchema));
  }

  std::string TextAt(const JsonValue& object, std::string_view key, std::string otherwise) const {
    const JsonMember* member = object.Find(key);
    if (member == nullptr) return otherwise;
    Want(member->value, Kind::kText, "\"" + std::string(key) + "\"");
    return member->value.text;
  }

  void AddRules(const JsonMember& member) {
    Rule rule;
    try {
      rule = RuleFor(member.key);
    } catch (const Error& error) {
      Fail(member.line, error.what(), error.hint());
    }
    rule.file = path_;
    if (member.value.kind == Kind::kList) {
      for (const JsonValue& item : member.value.items) AddRule(rule, item);
    } else {
      AddRule(rule, member.value);
    }
  }

  void AddRule(Rule rule, const JsonValue& value) {
    rule.line = value.line;
    if (value.kind == Kind::kObject) return AddObject(rule, value);
    if (value.kind != Kind::kNumber && value.kind != Kind::kText) {
      Fail(value.line,
           "a rule must be a number, a string with a unit, or an object, not " + std::string(NameOf(value.kind)));
    }
    if (rule.info->better == Better::kHigher) {
      Fail(value.line,
           "unclear whether this is a minimum or a maximum: higher is better for " + std::string(rule.info->id),
           "use {\"min\": …} or {\"max\": …}");
    }
    rule.limit = ValueOf(value, rule, "the limit");
    rules_.push_back(std::move(rule));
  }

  double ValueOf(const JsonValue& value, const Rule& rule, const std::string& what) const {
    std::optional<double> number;
    if (value.kind == Kind::kNumber) number = value.number;
    if (value.kind == Kind::kText) number = ReadValue(value.text, rule.info->unit);
    if (number) return *number;
    const std::string shown =
        value.kind == Kind::kText ? "'" + Printable(value.text) + "'" : std::string(NameOf(value.kind));
    Fail(value.line, what + " of " + std::string(rule.info->id) + " cannot be " + shown,
         "expected " + std::string(ValueForms(rule.info->unit)));
  }

  // The words that all limits of an object share.
  void ReadWords(const JsonValue& object, Rule* rule) const {
    rule->reason = TextAt(object, "reason", "");
    const std::string severity = TextAt(object, "severity", "error");
    if (severity != "error" && severity != "warn") {
      Fail(object.Find("severity")->line,
           "the severity must be \"error\" or \"warn\", not '" + Printable(severity) + "'");
    }
    rule->is_warning = severity == "warn";
    if (const JsonMember* member = object.Find("allow_missing")) {
      Want(member->value, Kind::kBool, "\"allow_missing\"");
      rule->allows_missing = member->value.boolean;
    }
  }

  void AddObject(Rule rule, const JsonValue& object) {
    CheckKeys(object, kRuleKeys, "a rule");
    ReadWords(object, &rule);
    const std::size_t before = rules_.size();
    AddLimit(rule, object, "max", RuleKind::kAtMost);
    AddLimit(rule, object, "min", RuleKind::kAtLeast);
    AddLimit(rule, object, "equals", RuleKind::kEqual);
    AddWarning(rule, object, before);
    const std::size_t relative = rules_.size();
    AddDifference(rule, object, "max_increase", RuleKind::kMaxIncrease);
    AddDifference(rule, object, "max_decrease", RuleKind::kMaxDecrease);
    if (rules_.size() == before) {
      Fail(object.line, "this rule has no limit", "add one of max, min, equals, warn, max_increase, max_decrease");
    }
    const JsonMember* floor = object.Find("and");
    if (floor != nullptr && rules_.size() == relative) {
      Fail(floor->line, "\"and\" requires max_increase or max_decrease",
           "it is a second threshold that the change must also exceed");
    }
  }

  void AddLimit(Rule rule, const JsonValue& object, const char* key, RuleKind kind) {
    const JsonMember* member = object.Find(key);
    if (member == nullptr) return;
    rule.kind = kind;
    rule.limit = ValueOf(member->value, rule, "\"" + std::string(key) + "\"");
    rule.line = member->line;
    rules_.push_back(std::move(rule));
  }

  // "warn" belongs to the one limit beside it; alone, it is where it gets worse.
  void AddWarning(Rule rule, const JsonValue& object, std::size_t first) {
    const JsonMember* member = object.Find("warn");
    if (member == nullptr) return;
    const double warn = ValueOf(member->value, rule, "\"warn\"");
    if (rules_.size() == first) {
      rule.kind = rule.info->better == Better::kHigher ? RuleKind::kAtLeast : RuleKind::kAtMost;
      rule.limit = warn;
      rule.is_warning = true;
      rule.line = member->line;
      return rules_.push_back(std::move(rule));
    }
    Rule& limited = rules_.back();
    if (rules_.size() > first + 1 || limited.kind == RuleKind::kEqual) {
      Fail(member->line, "\"warn\" needs exactly one of max and min", "use two rules in a list: [{…}, {…}]");
    }
    if (limited.kind == RuleKind::kAtMost ? warn > *limited.limit : warn < *limited.limit) {
      Fail(member->line, "\"warn\" is beyond the limit and would never trigger");
    }
    limited.warn = warn;
  }

  void AddDifference(Rule rule, const JsonValue& object, const char* key, RuleKind kind) {
    const JsonMember* member = object.Find(key);
    if (member == nullptr) return;
    rule.kind = kind;
    rule.line = member->line;
    ReadDifference(*member, &rule);
    if (const JsonMember* floor = object.Find("and")) {
      if (rule.share.has_value() == ReadShareOf(floor->value).has_value()) {
        Fail(floor->line, "\"and\" and \"" + std::string(key) + "\" must be one percentage and one absolute value",
             "example: \"max_increase\": \"5%\", \"and\": \"200us\"");
      }
      ReadDifference(*floor, &rule);
    }
    rules_.push_back(std::move(rule));
  }

  static std::optional<double> ReadShareOf(const JsonValue& value) {
    return value.kind == Kind::kText ? ReadShare(value.text) : std::nullopt;
  }

  void ReadDifference(const JsonMember& member, Rule* rule) const {
    const std::optional<double> share = ReadShareOf(member.value);
    const double value = share ? *share : ValueOf(member.value, *rule, "\"" + member.key + "\"");
    if (value < 0) Fail(member.line, "\"" + member.key + "\" must not be negative");
    (share ? rule->share : rule->limit) = value;
  }

  const std::string& path_;
  std::vector<Rule> rules_;
};

}  // namespace

Budget ParseBudget(std::string_view text, const std::string& path) {
  return BudgetReader(path).Read(ParseCommentedJson(text, path));
}

}  // namespace gprof
