// gprof_cli._core: traces as buffers that NumPy looks at. What people call is gprof_cli/__init__.py.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "gprof/library.h"
#include "gprof/version.h"
#include "python/array_columns.h"
#include "python/layouts.h"
#include "python/pages.h"
#include "trace/file/mapped_file.h"

namespace py = pybind11;

namespace gprof::python {
namespace {

// Read-only bytes, and whatever has to live as long as they are looked at.
struct Bytes {
  std::shared_ptr<const void> owner;
  const void* first = nullptr;
  std::size_t size = 0;
};

// Of a vector that it takes over.
Bytes Keep(std::vector<unsigned char>&& bytes) {
  auto owner = std::make_shared<const std::vector<unsigned char>>(std::move(bytes));
  return {owner, owner->data(), owner->size()};
}

// Names come from programs, and may be no UTF-8.
py::str TextOf(std::string_view text) {
  PyObject* made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(made);
}

class LoadedTrace {
 public:
  explicit LoadedTrace(const std::string& path) {
    const py::gil_scoped_release others_may_run;
    trace_ = std::make_shared<const Trace>(ReadTrace(path));
  }

  const Trace& trace() const { return *trace_; }

  std::string Report(uint32_t max_rows, int64_t min_gap_ns, const std::string& step) const {
    const py::gil_scoped_release others_may_run;
    AnalysisOptions options;
    options.max_rows = max_rows;
    options.min_gap_ns = min_gap_ns;
    options.step = step;
    return ReportJson(*trace_, options);
  }

  std::string Card() const {
    const py::gil_scoped_release others_may_run;
    return python::Card(*trace_);
  }

  std::string Page(uint64_t event_budget) const {
    const py::gil_scoped_release others_may_run;
    return python::Page(*trace_, event_budget);
  }

  // (rows, {column: (format, items, missing or None, texts or None, is_constant)})
  py::tuple Columns(const std::string& kind) const {
    python::Columns made;
    {
      const py::gil_scoped_release others_may_run;
      made = ColumnsOf(*trace_, kind);
    }
    py::dict columns;
    for (FinishedColumn& column : made.columns) {
      py::object missing = py::none(), texts = py::none();
      if (!column.missing.empty()) missing = py::cast(Keep(std::move(column.missing)));
      if (column.type == ColumnType::kText) {
        py::list list;
        for (const std::string& text : column.texts) list.append(TextOf(text));
        texts = std::move(list);
      }
      columns[py::str(column.name)] =
          py::make_tuple(column.format, Keep(std::move(column.items)), missing, texts, column.is_constant);
    }
    return py::make_tuple(made.rows, columns);
  }

  // {name: (records, bytes of a record, names, formats, offsets, Bytes)}, and None for those of Unpacked().
  py::dict Records() const {
    py::dict all;
    for (const RecordView& view : RecordViews(*trace_)) all[py::str(view.name)] = Describe(view, trace_);
    for (const std::string& name : PackedNames()) all[py::str(name)] = py::none();
    return all;
  }

  py::tuple Unpacked(const std::string& name) const {
    python::RecordView view;
    {
      const py::gil_scoped_release others_may_run;
      view = Unpack(*trace_, name);
    }
    return Describe(view, view.owner);
  }

  py::str Text(std::size_t id) const {
    if (id >= trace_->strings.size()) throw py::index_error("the trace has no text of this number");
    return TextOf(trace_->strings[id]);
  }

 private:
  static py::tuple Describe(const RecordView& view, std::shared_ptr<const void> owner) {
    py::list names, formats, offsets;
    for (const Field& field : view.fields) {
      names.append(field.name);
      formats.append(field.format);
      offsets.append(field.offset);
    }
    return py::make_tuple(view.count, view.record_bytes, names, formats, offsets,
                          Bytes{std::move(owner), view.first, view.count * view.record_bytes});
  }

  std::shared_ptr<const Trace> trace_;
};

py::list Lacks(const Trace& trace) {
  py::list lacks;
  for (const std::string_view key : LackingFacts(trace)) lacks.append(TextOf(key));
  return lacks;
}

py::list Kinds() {
  py::list kinds;
  for (const RecordTable& table : AllRecordTables()) {
    py::list columns;
    for (const std::string_view column : table.columns) columns.append(TextOf(column));
    kinds.append(py::make_tuple(TextOf(table.name), TextOf(table.meaning), columns));
  }
  return kinds;
}

// Those of gprof_cli: all of them are an Error, and what Python has for the same.
struct ErrorTypes {
  PyObject *error, *file, *not_found, *input;
};

PyObject* AddErrorType(py::module_& module, const std::string& name, const char* meaning, const py::tuple& bases) {
  PyObject* type = PyErr_NewExceptionWithDoc(("gprof_cli." + name).c_str(), meaning, bases.ptr(), nullptr);
  if (type == nullptr) throw py::error_already_set();
  module.add_object(name.c_str(), py::reinterpret_borrow<py::object>(type));
  return type;
}

PyObject* TypeOf(const ErrorTypes& types, const Error& error) {
  if (const auto* of_file = dynamic_cast<const FileError*>(&error)) {
    return of_file->number() == ENOENT ? types.not_found : types.file;
  }
  return error.code() == ExitCode::kUnreadable ? types.input : types.error;
}

void SetError(const ErrorTypes& types, const Error& error) {
  PyObject* type = TypeOf(types, error);
  py::object made = py::reinterpret_borrow<py::object>(type)(TextOf(error.what()));
  made.attr("hint") = TextOf(error.hint());
  made.attr("code") = static_cast<int>(error.code());
  if (const auto* of_file = dynamic_cast<const FileError*>(&error)) made.attr("errno") = of_file->number();
  PyErr_SetObject(type, made.ptr());
}

void AddErrors(py::module_& module) {
  static ErrorTypes types{};
  const auto is_a = [](auto... bases) { return py::make_tuple(py::handle(bases)...); };
  types.error = AddErrorType(
      module, "Error", "What failed and why; `hint` says what to do about it, `code` what a command would exit with.",
      is_a(PyExc_Exception));
  types.file = AddErrorType(module, "FileError", "The system did not give the file; `errno` says why.",
                            is_a(types.error, PyExc_OSError));
  types.not_found =
      AddErrorType(module, "NotFoundError", "There is no such file.", is_a(types.file, PyExc_FileNotFoundError));
  types.input = AddErrorType(module, "InputError", "The file is no trace, or too damaged to be read.",
                             is_a(types.error, PyExc_ValueError));
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const Error& error) {
      SetError(types, error);
    }
  });
}

PYBIND11_MODULE(_core, module) {
  module.attr("__version__") = kVersion;
  AddErrors(module);
  module.def("kinds", &Kinds);
  module.def("open_file", &OpenFile, py::call_guard<py::gil_scoped_release>());
  py::class_<Bytes>(module, "Bytes", py::buffer_protocol()).def_buffer([](const Bytes& bytes) {
    // NumPy asks for writable memory only of what says that it is.
    return py::buffer_info(const_cast<void*>(bytes.first), 1, py::format_descriptor<unsigned char>::format(), 1,
                           {static_cast<py::ssize_t>(bytes.size)}, {py::ssize_t{1}}, true);
  });
  py::class_<LoadedTrace>(module, "Trace")
      .def(py::init<const std::string&>())
      .def("report", &LoadedTrace::Report)
      .def("card", &LoadedTrace::Card)
      .def("page", &LoadedTrace::Page)
      .def("columns", &LoadedTrace::Columns)
      .def("records", &LoadedTrace::Records)
      .def("unpacked", &LoadedTrace::Unpacked)
      .def("text", &LoadedTrace::Text)
      .def_property_readonly("path", [](const LoadedTrace& t) { return TextOf(t.trace().path); })
      .def_property_readonly("recorder", [](const LoadedTrace& t) { return TextOf(t.trace().recorder); })
      .def_property_readonly("summary", [](const LoadedTrace& t) { return TextOf(Summary(t.trace())); })
      .def_property_readonly("start_ns", [](const LoadedTrace& t) { return t.trace().start_ns; })
      .def_property_readonly("end_ns", [](const LoadedTrace& t) { return t.trace().end_ns; })
      .def_property_readonly("is_complete", [](const LoadedTrace& t) { return t.trace().health.IsComplete(); })
      .def_property_readonly("lacks", [](const LoadedTrace& t) { return Lacks(t.trace()); });
}

}  // namespace
}  // namespace gprof::python
