"""The English of comments and pages: phrases that have to be read twice are refused, with a better one beside them.

To see what it refuses:  /usr/bin/python3 tests/tidy/english_test.py
"""
import ast
import io
import os
import pathlib
import re
import tokenize
import unittest

TOP = pathlib.Path(os.environ.get("TIDEMARK_SOURCE", pathlib.Path(__file__).parents[2]))
OTHERS_WORK = {"node_modules", "vendor", "build", ".git"}
VERBS = ("is|was|are|were|has|had|have|can|must|may|does|did|comes|goes|stays|runs|waits|belongs|follows|cannot|could|should|"
         "would|will")
# (pattern, what to write instead); the first two are asked of the beginning of a comment's line or of a sentence in a page.
AT_THE_BEGINNING = [
    (r"Of\b", 'name the thing: "The rows of ...", "Returns the ... of ..."'),
    (r"(What|Who)\b", 'name the thing: "Rows that are missing ...", "The caller ..."'),
]
ANYWHERE = [
    (r"\b[Ww]h(o|ich)ever\b", 'name the one: "the owner that ...", "the process that ...", "either"'),
    (rf"\b[Ww]hat ({VERBS})\b", 'name the thing: "the rows that are ...", "the reason", "the missing members"'),
]


def slashes(text):
    """The comments of C++ and JavaScript, line by line."""
    for number, line in enumerate(text.split("\n"), 1):
        if found := re.search(r"(?:^|[\s;{}(),])//[/!<]* ?(.*)$", line):
            yield number, found[1]


def hashes(text):
    for number, line in enumerate(text.split("\n"), 1):
        if found := re.search(r"(?:^|\s)#(?!!) ?(.*)$", line):
            yield number, found[1]


def python(text):
    """Comments and docstrings."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            yield token.start[0], token.string.lstrip("# ")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(node):
            for offset, line in enumerate(ast.get_docstring(node, clean=False).split("\n")):
                yield node.body[0].lineno + offset, line.strip()


def prose(text):
    """The lines of a page that are not code."""
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside and not line.startswith("    "):
            yield number, re.sub(r"`[^`]*`", "``", line).lstrip("#>-*| 0123456789.")


READERS = {".h": slashes, ".cpp": slashes, ".mjs": slashes, ".js": slashes, ".cmake": hashes, ".sh": hashes, ".txt": hashes,
           ".yaml": hashes, ".py": python, ".md": prose}


def files():
    for path in sorted(TOP.rglob("*")):
        place = path.relative_to(TOP)
        if OTHERS_WORK.isdisjoint(place.parts) and path.suffix in READERS and path.is_file():
            if path.suffix != ".txt" or path.name == "CMakeLists.txt":
                yield path, place


def found_in(path):
    for number, line in READERS[path.suffix](path.read_text(encoding="utf-8")):
        for pattern, instead in AT_THE_BEGINNING:
            if re.match(pattern, line):
                yield number, line, instead
        for pattern, instead in ANYWHERE:
            if re.search(pattern, line):
                yield number, line, instead


class English(unittest.TestCase):
    def test_comments_and_pages_are_read_once(self):
        wrong = [f"{place}:{number}: {line}\n    {instead}"
                 for path, place in files() for number, line, instead in found_in(path)]
        self.assertEqual(len(wrong), 0, "\n".join(wrong[:100]))

    def test_it_finds_what_it_refuses(self):
        for line in ("// Of the catalogue's first: whoever follows there follows on every shard.",
                     "// What is not there at the end of a record has nothing in it."):
            comment = next(slashes(line))[1]
            self.assertTrue(any(re.match(pattern, comment) for pattern, _ in AT_THE_BEGINNING), line)
        self.assertFalse([line for _, line in slashes('auto url = "http://host";')])


if __name__ == "__main__":
    unittest.main()
