"""Validates JSON by the part of JSON Schema (draft 2020-12) that the schemas in docs/schema use.

A keyword that is not known here is an error, so that no part of a schema goes unchecked. With `is_strict`, properties
that a schema does not name are errors as well: readers must bear them, our own reports must not have them.
"""

import re

KNOWN = {"$schema", "$id", "$defs", "$ref", "title", "description", "type", "properties", "required", "items", "enum",
         "const", "pattern", "maxLength", "minimum", "additionalProperties"}
TYPES = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
}


def problems(value, schema, is_strict=False, root=None, path="$"):
    """Lines that say where `value` is not what the schema asks for."""
    root = schema if root is None else root
    unknown = set(schema) - KNOWN
    if unknown:
        raise ValueError(f"{path}: keywords that this validator does not know: {sorted(unknown)}")
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        yield from problems(value, target, is_strict, root, path)
        return
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(TYPES[name](value) for name in types):
        yield f"{path}: {value!r} is no {' or '.join(types)}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{path}: {value!r} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is none of {schema['enum']}"
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        yield f"{path}: {value!r} is not like {schema['pattern']}"
    if isinstance(value, str) and len(value) > schema.get("maxLength", len(value)):
        yield f"{path}: {value!r} has more than {schema['maxLength']} characters"
    if "minimum" in schema and TYPES["number"](value) and value < schema["minimum"]:
        yield f"{path}: {value} is below {schema['minimum']}"
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from problems(item, schema["items"], is_strict, root, f"{path}[{index}]")
    if isinstance(value, dict):
        yield from problems_of_object(value, schema, is_strict, root, path)


def problems_of_object(value, schema, is_strict, root, path):
    for name in schema.get("required", []):
        if name not in value:
            yield f"{path}: has no {name}"
    named = schema.get("properties", {})
    for name, item in value.items():
        if name in named:
            yield from problems(item, named[name], is_strict, root, f"{path}.{name}")
        elif schema.get("additionalProperties") is False:
            yield f"{path}: there must be no {name}"
        elif "additionalProperties" in schema:
            yield from problems(item, schema["additionalProperties"], is_strict, root, f"{path}.{name}")
        elif is_strict:
            yield f"{path}: the schema does not name {name}"
