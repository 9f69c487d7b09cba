"""Writes a page of docs/ as a manual page: man_page.py PAGE.md NAME VERSION > NAME.1.gz

Knows the Markdown that the pages use: headings, paragraphs, lists, fenced code, tables, emphasis, code and links.
"""

import gzip
import re
import sys


def inline(text):
    text = text.replace("\\", "\\e")
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    text = re.sub(r"\*\*([^*]*)\*\*", r"\\fB\1\\fR", text)
    text = re.sub(r"(?<!\w)\*([^*\s][^*]*)\*(?!\w)", r"\\fI\1\\fR", text)
    text = text.replace("-", "\\-").replace("&lt;", "<").replace("&gt;", ">")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def verbatim(lines):
    yield ".PP\n.nf\n.RS"
    for line in lines:
        line = line.replace("\\", "\\e").replace("-", "\\-")
        yield f"\\&{line}" if line.startswith((".", "'")) else line
    yield ".RE\n.fi"


def table(rows):
    """The first column as a heading, the others as its text: tables are too wide for a manual page."""
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))] for row in rows]
    for row in cells[2:]:
        yield ".TP"
        yield inline(row[0].replace("\\|", "|"))
        yield inline("; ".join(cell.replace("\\|", "|") for cell in row[1:] if cell))


def blocks(text):
    """(kind, lines) of each block of the page."""
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.S)
    text = re.sub(r"^\[简体中文\]\([^)]*\)\n+", "", text, flags=re.M)  # leads to no manual page
    fence, kind, block = None, None, []
    for line in text.splitlines() + [""]:
        if fence:
            if line.strip() == fence:
                yield "code", block
                fence, kind, block = None, None, []
            else:
                block.append(line)
            continue
        if match := re.match(r"\s*(```|~~~)", line):
            if block:
                yield kind, block
            fence, kind, block = match.group(1), "code", []
            continue
        starts = "head" if line.startswith("#") else "row" if line.startswith("|") else None
        starts = starts or ("item" if re.match(r"\s*([*-]|\d+\.) ", line) else None)
        if block and (not line.strip() or starts == "head" or starts == "item" or (kind == "head") or
                      (starts == "row") != (kind == "row")):
            yield kind, block
            kind, block = None, []
        if line.strip():
            kind = kind or starts or "text"
            block.append(line.strip())


def man_page(text, name, version):
    yield f'.TH "{name.upper()}" 1 "" "gprof-cli {version}" "gprof-cli"'
    summary = None
    for kind, lines in blocks(text):
        joined = " ".join(lines)
        if kind == "head" and summary is None:
            summary = re.sub(r"^#+\s*", "", joined)
            about = re.sub(rf"^`?{re.escape(name.replace('-cli-', '-cli '))}`?\s*[:—-]*\s*", "", summary)
            yield f".SH NAME\n{inline(name)} \\- {inline(about or 'a command of gprof-cli')}\n.SH DESCRIPTION"
        elif kind == "head":
            level = ".SH" if joined.startswith("## ") else ".SS"
            yield f"{level} {inline(re.sub(r'^#+ *', '', joined))}"
        elif kind == "code":
            yield from verbatim(lines)
        elif kind == "row":
            yield from table(lines)
        elif kind == "item":
            yield ".IP \\(bu 2\n" + inline(re.sub(r"^([*-]|\d+\.) ", "", joined))
        else:
            yield ".PP\n" + inline(joined)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as page:
        text = "\n".join(man_page(page.read(), sys.argv[2], sys.argv[3])) + "\n"
    # The same bytes whenever it is built.
    sys.stdout.buffer.write(gzip.compress(text.encode(), 9, mtime=0))
