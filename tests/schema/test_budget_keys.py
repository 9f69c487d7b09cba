"""The schema of budgets lists every metric that a rule may be about, so that editors complete and explain them.

  test_budget_keys.py --update      rewrites docs/schema/budget.schema.json from docs/metrics.md
"""

import json
import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = SOURCE / "docs/schema/budget.schema.json"
# docs/metrics.md is made from the catalogue. | id | unit | better | exact | needs | meaning |
ROW = re.compile(r"\| `([\w.]+)` \| ([^|]+) \| (?:lower|higher|) *\| (?:yes)? *\| (?:[^|]*) \| ([^|]+) \|")
PER_KERNEL = re.compile(r"kernel\.|kernels\.median_ns$")


def keys_of_rules():
    text = (SOURCE / "docs/metrics.md").read_text(encoding="utf-8")
    found = ROW.findall(text[:text.index("\n## ", text.index("## Metrics\n") + 1)])
    return {name: {"$ref": "#/$defs/rule", "description": f"{meaning} ({unit})"}
            for name, unit, meaning in found if not PER_KERNEL.match(name)}


def wanted():
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    rules = schema["properties"]["rules"]
    rest = {key: value for key, value in rules.items() if key != "properties"}
    more = rest.pop("additionalProperties")
    schema["properties"]["rules"] = {**rest, "properties": keys_of_rules(), "additionalProperties": more}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


class BudgetKeys(unittest.TestCase):
    def test_every_metric_is_a_key(self):
        self.assertGreater(len(keys_of_rules()), 200)
        self.assertEqual(SCHEMA.read_text(encoding="utf-8"), wanted(), "run test_budget_keys.py --update")


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        SCHEMA.write_text(wanted(), encoding="utf-8")
    else:
        unittest.main()
