"""Tables of the report as rows, which need nothing but Python."""

import importlib


def installed(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"this needs {name}, which cannot be imported here: pip install {name}", name=name) from error


class Results(list):
    """Rows of a report, as dicts. Times are in nanoseconds, sizes in bytes; None where there is no value."""

    def __init__(self, name, title, note, columns, rows):
        super().__init__(dict(row) for row in rows)
        self.name = name
        self.title = title
        self.note = note
        self.columns = tuple(columns)

    def to_pandas(self):
        """A pandas.DataFrame; whole numbers with missing values are Int64."""
        pandas = installed("pandas")
        made = {}
        for name in self.columns:
            values = [row[name] for row in self]
            known = [value for value in values if value is not None]
            has_gaps = 0 < len(known) < len(values) and all(type(value) is int for value in known)
            made[name] = pandas.array(values, "Int64") if has_gaps else values
        return pandas.DataFrame(made)

    def __repr__(self):
        return f"<Results {self.name}: {len(self)} rows of {', '.join(self.columns)}>"
