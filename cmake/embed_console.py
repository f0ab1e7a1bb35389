"""Generates the C++ source that holds the console's files:
embed_console.py CONSOLE_DIRECTORY docs/runbooks.md OUTPUT.cpp

The page of runbooks becomes runbooks.json, so that documentation and console have one text. Lines of comments are left empty,
so that the lines of a module keep their numbers. Every file is included plain and compressed by gzip. The address of each, except index.html, begins with a hash of them
all, so browsers may keep them for ever; index.html names that hash, and every module, so that a browser asks for all of
them at once.
"""
import gzip
import hashlib
import json
import pathlib
import re
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
         ".json": "application/json"}


def without_comments(module):
    return re.sub(rb"^[ \t]*//.*$", b"", module, flags=re.MULTILINE)


def files_of(folder):
    """Returns the files for the browser, by their path."""
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.suffix in TYPES}
    own = {name for name in found if name.endswith(".js") and not name.startswith("vendor/")}
    return {name: without_comments(text) if name in own else text for name, text in sorted(found.items())}


def plain(text):
    """Returns a paragraph as one line, with the names of links instead of the links."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(text.split()))


def runbooks_in(text):
    """Returns the runbooks of a page: [{id, title, steps: [{name, text, commands}]}]. A runbook begins with its anchor and
    its heading; a paragraph of it begins with the name of the step in bold, and its commands follow as code."""
    out = []
    for found in re.finditer(r'<a id="([a-z-]+)"></a>\n## (.+)\n((?:(?!<a id=).*\n)*)', text):
        steps = []
        for block in re.split(r"\n\n+", found[3].strip("\n")):
            if block.startswith("    "):
                steps[-1]["commands"] += [line.strip() for line in block.split("\n")]
                continue
            named = re.match(r"\*\*(.+?)\.\*\* ", block)
            steps.append({"name": named[1] if named else "", "text": plain(block[named.end():] if named else block), "commands": []})
        out.append({"id": found[1], "title": found[2], "steps": steps})
    return out


def placed(files):
    """Returns the files by the path at which they are served, with the index that names them."""
    digest = hashlib.sha256(b"".join(name.encode() + b"\0" + text + b"\0" for name, text in files.items())).hexdigest()[:16]
    modules = "\n".join(f'<link rel="modulepreload" href="/console/{digest}/{name}">' for name in files if name.endswith(".js"))
    out = {f"/console/{digest}/{name}": text for name, text in files.items() if name != "index.html"}
    index = files["index.html"].decode().replace("@BUNDLE@", digest).replace("<!-- @MODULES@ -->", modules)
    return {"/": index.encode(), **out}


def array(name, content):
    """Writes a string of escapes, because as many numbers would compile far more slowly."""
    text = "".join(f"\\{byte:03o}" for byte in content)
    lines = "\n".join(f'    "{text[start:start + 112]}"' for start in range(0, len(text), 112))
    return f"constexpr char {name}[] =\n{lines};\n"


def main(folder, runbooks, output):
    files = files_of(folder)
    files["runbooks.json"] = json.dumps(runbooks_in(runbooks.read_text()), ensure_ascii=False).encode()
    parts, rows = [], []
    for number, (path, content) in enumerate(placed(files).items()):
        packed = gzip.compress(content, 9, mtime=0)
        parts += [array(f"kPlain{number}", content), array(f"kPacked{number}", packed)]
        kind = TYPES[".html" if path == "/" else pathlib.PurePosixPath(path).suffix]
        tag = hashlib.sha256(content).hexdigest()[:16]
        rows.append(f'    {{"{path}", "{kind}", "\\"{tag}\\"", {{kPlain{number}, {len(content)}}}, '
                    f'{{kPacked{number}, {len(packed)}}}}},\n')
    output.write_text("// Made from console/ by cmake/embed_console.py.\n"
                      '#include "api/rest/console_files.h"\n\nnamespace tidemark::api {\nnamespace {\n\n'
                      + "".join(parts) + "\nconstexpr ConsoleFile kFiles[] = {\n" + "".join(rows)
                      + "};\n\n}  // namespace\n\nstd::span<const ConsoleFile> console_files() { return kFiles; }\n\n"
                      "}  // namespace tidemark::api\n")


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
