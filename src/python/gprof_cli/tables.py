"""Tables of records as columns of NumPy."""

from .results import installed

np = installed("numpy")


class Texts:
    """A column of texts: a number a row, and each text once. A text is made where it is asked for."""

    __slots__ = ("codes", "categories")
    __array_priority__ = 1000  # so that NumPy leaves == to us
    __hash__ = None

    def __init__(self, codes, categories):
        self.codes = codes            # -1: no text
        self.categories = categories  # list of str

    def __len__(self):
        return len(self.codes)

    def __getitem__(self, key):
        codes = self.codes[key]
        if np.ndim(codes) == 0:
            return None if codes < 0 else self.categories[codes]
        return Texts(codes, self.categories)

    def __iter__(self):
        return (None if code < 0 else self.categories[code] for code in self.codes.tolist())

    def __eq__(self, text):
        if isinstance(text, str):
            return self.isin((text,))
        return np.asarray(self) == np.asarray(text)

    def __ne__(self, text):
        return ~(self == text)

    def isin(self, texts):
        """True where the text is one of `texts`."""
        wanted = set(texts)
        return self._where(lambda text: text in wanted)

    def contains(self, part):
        """True where `part` is in the text."""
        return self._where(lambda text: part in text)

    def _where(self, condition):
        # One more at the end: where code -1, no text, looks.
        good = np.fromiter((condition(text) for text in self.categories), bool, len(self.categories))
        return np.append(good, False)[self.codes]

    def tolist(self):
        return list(self)

    def __array__(self, dtype=None, copy=None):
        texts = np.empty(len(self.categories) + 1, object)
        texts[:-1] = self.categories
        made = texts[self.codes]
        return made if dtype is None else made.astype(dtype)

    def __repr__(self):
        return f"<Texts: {len(self)} rows, {len(self.categories)} texts>"


def view(data, dtype, rows, is_constant):
    """The items of a buffer, without a copy; one that stands for all rows is looked at again and again."""
    if rows == 0:
        return np.empty(0, dtype)
    items = np.frombuffer(data, dtype)
    return np.broadcast_to(items, (rows,)) if is_constant else items


def record_array(count, size, names, formats, offsets, data):
    """Records as a structured array."""
    return view(data, np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size}), count, False)


class Table:
    """The records of one kind. Columns are NumPy arrays or Texts; they are made when the first of them is asked for.

    A column is table["start_ns"] or table.start_ns. A mask, a slice or a list of rows makes a smaller table of it.
    """

    def __init__(self, kind, meaning, columns, load):
        self.kind = kind
        self.meaning = meaning
        self.columns = tuple(columns)
        if "duration_ns" in self.columns:
            at = self.columns.index("duration_ns")
            self.columns = self.columns[:at] + ("end_ns",) + self.columns[at:]
        self._load = load
        self._rows = None
        self._data = {}
        self._missing = {}

    def _fill(self):
        load = self._load
        if load is None:
            return
        # Two threads may both do this, and store the same.
        self._rows, columns = load()
        for name, (form, items, missing, texts, is_constant) in columns.items():
            values = view(items, form, self._rows, is_constant)
            self._data[name] = values if texts is None else Texts(values, texts)
            if missing is not None:
                self._missing[name] = view(missing, bool, self._rows, is_constant)
        self._load = None

    def __len__(self):
        self._fill()
        return self._rows

    def __contains__(self, name):
        return name in self.columns

    def __getitem__(self, key):
        if not isinstance(key, str):
            return self._take(key)
        if key not in self.columns:
            raise KeyError(f"the table {self.kind} has no column {key!r}; it has {', '.join(self.columns)}")
        self._fill()
        if key not in self._data:
            self._data[key] = self._data["start_ns"] + self._data["duration_ns"]
        return self._data[key]

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __dir__(self):
        return [*super().__dir__(), *self.columns]

    def _take(self, rows):
        self._fill()
        if isinstance(rows, int):
            rows = [rows]
        smaller = Table(self.kind, self.meaning, (), None)
        smaller.columns = self.columns
        smaller._data = {name: values[rows] for name, values in self._data.items()}
        smaller._missing = {name: values[rows] for name, values in self._missing.items()}
        smaller._rows = len(smaller._data[next(name for name in self.columns if name != "end_ns")])
        return smaller

    def missing(self, name):
        """True where a row has no value in the column: not known, or there is none. Numbers are -1 there (0 in a column
        of unsigned numbers), reals NaN, texts None."""
        self[name]
        return self._missing.get(name, np.broadcast_to(np.False_, (self._rows,)))

    def rows(self):
        """The rows as dicts, for looking at a few."""
        columns = [self[name].tolist() for name in self.columns]
        absent = [self.missing(name).tolist() for name in self.columns]
        for values, none in zip(zip(*columns), zip(*absent)):
            yield {name: None if is_none else value for name, value, is_none in zip(self.columns, values, none)}

    def to_pandas(self, columns=None):
        """A pandas.DataFrame; texts are categoricals, whole numbers with missing values are Int64."""
        pandas = installed("pandas")
        made = {}
        for name in columns or self.columns:
            values = self[name]
            if isinstance(values, Texts):
                values = pandas.Categorical.from_codes(values.codes, values.categories)
            elif name in self._missing and values.dtype.kind in "iu":
                values = pandas.arrays.IntegerArray(values.copy(), self._missing[name].copy())
            elif name in self._missing and values.dtype.kind == "b":
                values = pandas.arrays.BooleanArray(values.copy(), self._missing[name].copy())
            made[name] = values
        return pandas.DataFrame(made)

    def to_arrow(self, columns=None):
        """A pyarrow.Table; texts are dictionaries, missing values are null."""
        pyarrow = installed("pyarrow")
        made = {}
        for name in columns or self.columns:
            values, missing = self[name], self._missing.get(name)
            if isinstance(values, Texts):
                codes = pyarrow.array(values.codes, mask=values.codes < 0)
                made[name] = pyarrow.DictionaryArray.from_arrays(codes, pyarrow.array(values.categories, pyarrow.string()))
            else:
                made[name] = pyarrow.array(values, mask=None if missing is None else np.ascontiguousarray(missing))
        return pyarrow.table(made)

    def __repr__(self):
        return f"<Table {self.kind}: {len(self)} rows>"
