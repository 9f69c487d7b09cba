"""One name, one type: two types of one qualified name in different files are one to the linker, which takes the code of either.

Such a pair once made `report` lose ranges: the vector of one was sorted by the comparison of the other. No compiler sees it, as no
file has both.
"""

import collections
import re
import unittest

import tree

COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'', re.S)
PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
NAMESPACE = re.compile(r"(?:inline\s+)?namespace\b\s*([\w:]*)\s*(?:\[\[.*?\]\]\s*)?$")
TYPE = re.compile(r"^(?:template\s*<.*>\s*)?(?:struct|class|union|enum(?:\s+class|\s+struct)?)\s+(?:alignas\([^)]*\)\s*|\[\[.*?\]\]\s*)*"
                  r"([A-Za-z_][\w:]*)(\s*<[^{}]*>)?\s*(?:final\b)?\s*(?::[^{}]*)?$", re.S)
UNNAMED, OTHER = "(unnamed)", "(other)"


def scope_of(head):
    """What a brace opens: (name, is it a type)."""
    head = head.strip()
    namespace = NAMESPACE.search(head)
    if namespace:
        return namespace[1] or UNNAMED, False
    kind = TYPE.search(head)
    if kind and "(" not in head.split(kind[1])[0]:
        return kind[1] + re.sub(r"\s+", "", kind[2] or ""), True
    return OTHER, False


def types(code):
    """Qualified names of the types that a file defines for all of the program."""
    code = PREPROCESSOR.sub(" ", COMMENT_OR_TEXT.sub(" 0 ", code))
    scopes, since = [], 0
    for match in re.finditer(r"[{};]", code):
        if match[0] == "{":
            name, is_type = scope_of(code[since:match.start()])
            scopes.append(name)
            if is_type and UNNAMED not in scopes and OTHER not in scopes:
                yield "::".join(scopes)
        elif match[0] == "}" and scopes:
            scopes.pop()
        since = match.end()


class OneDefinition(unittest.TestCase):
    def test_types_of_one_name_are_one_type(self):
        files = collections.defaultdict(set)
        for name in tree.files("include", "src", suffixes=(".h", ".cpp", ".cu")):
            for qualified in types(tree.text(name)):
                files[qualified].add(name)
        self.assertGreater(len(files), 300, "the rule sees hardly any type")
        self.assertIn("gprof::Trace", files)
        twice = {name: sorted(where) for name, where in files.items() if len(where) > 1}
        self.assertEqual(twice, {}, "give one of them another name, or an unnamed namespace")

    def test_the_rule_sees_what_it_is_for(self):
        self.assertEqual(list(types("namespace gprof {\nstruct A { int x; };\nclass B final : public A {\n enum class C : int { k };\n};\n}")),
                         ["gprof::A", "gprof::B", "gprof::B::C"])
        self.assertEqual(list(types("namespace gprof::test { namespace { struct A {}; } template <class T>\nstruct D<T*> {}; }")),
                         ["gprof::test::D<T*>"])
        self.assertEqual(list(types('namespace gprof { struct A; struct A F() { struct Local {}; return {"struct B {"}; } // struct C {\n}')), [])


if __name__ == "__main__":
    tree.main()
