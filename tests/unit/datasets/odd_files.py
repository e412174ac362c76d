"""Odd files: bytes, and the rows they hold or the words of their refusal."""

from __future__ import annotations

import codecs
import gzip
from dataclasses import dataclass, field
from typing import Any

from bakeoff.core.specs import DatasetSpec


@dataclass(frozen=True)
class Odd:
    """A file. Either `columns` and `rows`, or `refused`: patterns that the message must hold."""

    name: str
    data: bytes
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    refused: tuple[str, ...] = ()
    line: int | None = None
    column: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    notice: str = ""

    def spec(self, path: str) -> DatasetSpec:
        # A stream has no name: what the content cannot show has to be written.
        ending = self.name.removesuffix(".gz").rsplit(".", 1)[1]
        written = path == "-" and (self.refused or ending in ("csv", "tsv"))
        said = {"format": ending} if written and "format" not in self.options else {}
        return DatasetSpec(path=path, **said, **self.options)


AB = ("examples", "ground_truth")
HI = (("Hello", "Hallo"),)
PLAIN = "examples,ground_truth\nHello,Hallo\n"
WORDS = ("NA", "null", "None", "nan", "True", "007", "1.0", "1e5", "#N/A", " ", "-")
BIG = "x" * 131_073
MEGA = "y" * 1_000_000
EIGHT = "z," * 4_000_000


def read(name: str, data: bytes | str, columns: Any, rows: Any, **more: Any) -> Odd:
    raw = data.encode() if isinstance(data, str) else data
    return Odd(name, raw, tuple(columns), tuple(tuple(r) for r in rows), **more)


def refused(name: str, data: bytes | str, *words: str, **more: Any) -> Odd:
    raw = data.encode() if isinstance(data, str) else data
    return Odd(name, raw, refused=words, **more)


READ = [
    read("plain.csv", PLAIN, AB, HI),
    read("upper.CSV.csv", PLAIN, AB, HI),
    read("bom.csv", codecs.BOM_UTF8 + PLAIN.encode(), AB, HI),
    read(
        "bom_declared.csv", codecs.BOM_UTF8 + PLAIN.encode(), AB, HI, options={"encoding": "utf8"}
    ),
    read("bom_inside.csv", "a,b\n\ufeffx,y\ufeff\n", "ab", [("\ufeffx", "y\ufeff")]),
    read("utf16.csv", PLAIN.encode("utf-16"), AB, HI),
    read(
        "utf16le.csv",
        codecs.BOM_UTF16_LE + PLAIN.encode("utf-16-le"),
        AB,
        HI,
        options={"encoding": "utf-16"},
    ),
    read(
        "utf16be.csv",
        codecs.BOM_UTF16_BE + "a;b\nsch\u00f6n;\U0001f600\n".encode("utf-16-be"),
        "ab",
        [("sch\u00f6n", "\U0001f600")],
        notice="delimiter",
    ),
    read("utf16_nomark.csv", PLAIN.encode("utf-16-be"), AB, HI, options={"encoding": "utf-16-be"}),
    read("utf32.csv", PLAIN.encode("utf-32"), AB, HI),
    read(
        "latin1.csv",
        "a,b\ncaf\u00e9,\u00fc\n".encode("latin-1"),
        "ab",
        [("caf\u00e9", "\u00fc")],
        options={"encoding": "latin-1"},
    ),
    read(
        "cp1252.csv",
        "a;b\n5 \u20ac;\u201chi\u201d\n".encode("cp1252"),
        "ab",
        [("5 \u20ac", "\u201chi\u201d")],
        notice="delimiter",
        options={"encoding": "windows-1252"},
    ),
    read(
        "sjis.csv",
        "a,b\n\u8868,\u30bd\n".encode("shift_jis"),
        "ab",
        [("\u8868", "\u30bd")],
        options={"encoding": "shift_jis"},
    ),
    read(
        "semicolon.csv",
        "examples;ground_truth\nHello, how are you;Hallo\n3,5;4,5\n",
        AB,
        [("Hello, how are you", "Hallo"), ("3,5", "4,5")],
        notice="delimiter",
    ),
    read(
        "semicolons_in_cells.csv",
        "q,a\none; two; three,x;y\nfour; five,z;w\n",
        "qa",
        [("one; two; three", "x;y"), ("four; five", "z;w")],
    ),
    read("tab_in_csv.csv", "a\tb\n1,2\t3,4\n", "ab", [("1,2", "3,4")], notice="delimiter"),
    read("pipe.csv", "a|b\nx, y|z\n", "ab", [("x, y", "z")], notice="delimiter"),
    read("odd_delimiter.csv", "a~b\nx,1~y\n", "ab", [("x,1", "y")], options={"delimiter": "~"}),
    read(
        "declared.csv", "a,b;c\n1,2;3\n", ("a,b", "c"), [("1,2", "3")], options={"delimiter": ";"}
    ),
    read("sep.csv", "sep=;\na;b\n1;2\n", "ab", [("1", "2")], notice="sep-line"),
    read("plain.tsv", "a\tb\nx, y\tz\n", "ab", [("x, y", "z")]),
    read("quoted.tsv", 'a\tb\n"x\ty"\t"z\nw"\n', "ab", [("x\ty", "z\nw")]),
    read(
        "newlines.csv",
        'a,b\n"one\ntwo\r\nthree\rfour",x\ny,z\n',
        "ab",
        [("one\ntwo\r\nthree\rfour", "x"), ("y", "z")],
    ),
    read("crlf.csv", 'a,b\r\nx,y\r\n"p\r\nq",r\r\n', "ab", [("x", "y"), ("p\r\nq", "r")]),
    read("cr.csv", "a,b\rx,y\rp,q", "ab", [("x", "y"), ("p", "q")]),
    read("no_last_break.csv", "a,b\nx,y", "ab", [("x", "y")]),
    read("doubled.csv", 'a,b\n"say ""hi""",""""\n"","x"\n', "ab", [('say "hi"', '"'), ("", "x")]),
    read("inner_quotes.csv", 'a,b\n5" pipe,it\'s "fine"\n', "ab", [('5" pipe', 'it\'s "fine"')]),
    read("empty_lines.csv", "\n\na,b\n\nx,y\n\r\n\n", "ab", [("x", "y")]),
    read("blanks_kept.csv", "a,b\n x , y\t\n", "ab", [(" x ", " y\t")]),
    read("empty_cells.csv", "a,b,c\n,,\nx,,\n", "abc", [("", "", ""), ("x", "", "")]),
    read("one_column.csv", "examples\nHello\nNA\n", ("examples",), [("Hello",), ("NA",)]),
    read("one_column_quoted.csv", 'examples\n"a, b"\n""\n', ("examples",), [("a, b",), ("",)]),
    read("one_column_header_comma.csv", '"x, y"\n"a, b"\nc\n', ("x, y",), [("a, b",), ("c",)]),
    read(
        "words.csv", "t,u\n" + "".join(f"{w},{w}\n" for w in WORDS), "tu", [(w, w) for w in WORDS]
    ),
    read(
        "huge.csv",
        f'a,b\n{BIG},1\n"{MEGA}",2\n"{EIGHT}",3\n',
        "ab",
        [(BIG, "1"), (MEGA, "2"), (EIGHT, "3")],
    ),
    read(
        "case.csv",
        "Text,text,text \n1,2,3\n",
        ("Text", "text", "text "),
        [("1", "2", "3")],
        notice="similar-columns",
    ),
    read(
        "separators.csv",
        "a,b\nx\u2028y\x0bz\x0c\x1c\x85,w\n",
        "ab",
        [("x\u2028y\x0bz\x0c\x1c\x85", "w")],
    ),
    read("formula.csv", "a,b\n=1+1,@x\n", "ab", [("=1+1", "@x")]),
    read("packed.csv.gz", gzip.compress(PLAIN.encode()), AB, HI),
    read(
        "rtl.csv",
        "a,b\n\u0645\u0631\u062d\u0628\u0627,\u05e9\u05dc\u05d5\u05dd\n",
        "ab",
        [("\u0645\u0631\u062d\u0628\u0627", "\u05e9\u05dc\u05d5\u05dd")],
    ),
    read("bom.jsonl", codecs.BOM_UTF8 + b'{"a":"x","b":"y"}\n', "ab", [("x", "y")]),
    read(
        "plain.jsonl",
        '{"a": "x", "b": null}\n\n{"b": "y", "c": [1, "z"]}\n',
        "abc",
        [("x", None, None), (None, "y", [1, "z"])],
        notice="missing-keys",
    ),
    read(
        "numbers.jsonl",
        '{"a": 12345678901234567890123, "b": 0.1, "c": true, "d": 1.10}\n',
        "abcd",
        [(12345678901234567890123, 0.1, True, 1.1)],
    ),
    read(
        "separators.jsonl",
        '{"a": "x\u2028y", "b": "\\u2028\\ud83d\\ude00"}\n',
        "ab",
        [("x\u2028y", "\u2028\U0001f600")],
    ),
    read("utf16.jsonl", '{"a": "x"}\n'.encode("utf-16"), "a", [("x",)]),
    read("array.json", ' [ {"a": "x"} ,\n{"a": "y"} ] \n', "a", [("x",), ("y",)]),
    read(
        "wrapped.json",
        '{"version": 2, "tags": ["t"], "rows": [{"a": "x"}]}',
        "a",
        [("x",)],
        notice="json-key",
    ),
    read(
        "sequence.json",
        '{\n "a": "x"\n}\n{\n "a": "y"\n}\n',
        "a",
        [("x",), ("y",)],
        notice="json-sequence",
    ),
    read("lines.json", '{"a": "x"}\n{"a": "y"}\n', "a", [("x",), ("y",)], notice="json-sequence"),
    read("bom.json", codecs.BOM_UTF8 + b'[{"a": "\xc3\xa9"}]', "a", [("\u00e9",)]),
    read(
        "long.json",
        '[{"a": "' + "q" * 700_000 + '"}, {"a": "\\u00e9"}]',
        "a",
        [("q" * 700_000,), ("\u00e9",)],
    ),
    read("nested.json", '[{"a": {"en": "x", "n": [1.5]}}]', "a", [({"en": "x", "n": [1.5]},)]),
]

REFUSED = [
    refused("empty.csv", b"", "is empty"),
    refused("only_bom.csv", codecs.BOM_UTF8, "empty lines"),
    refused("only_breaks.csv", "\n\r\n\n", "empty lines"),
    refused("header_only.csv", "a,b\n", "no rows", "'a', 'b'", line=1),
    refused("header_only.jsonl", "\n\n", "no rows"),
    refused(
        "repeated.csv",
        "examples,examples,ground_truth\n1,2,3\n",
        "twice",
        "places 1 and 2",
        line=1,
        column="examples",
    ),
    refused("blank_header.csv", ",a\n0,x\n", "column 1 of 2 has no name", line=1),
    refused(
        "too_many.csv", 'a,b\nx,y\n"p\nq",r,s\n', "3 cells where the header has 2", "'s'", line=3
    ),
    refused(
        "too_few.csv",
        "a,b,c\nx,y,z\np\n",
        "1 cell where the header has 3",
        "'b', 'c'",
        line=3,
        column="b",
    ),
    refused("blank_before_quote.csv", 'a,b\nx, "y, z"\n', "no blank stands before", line=2),
    refused(
        "lone_quote.csv",
        "a|b\n" + "x|y\n" * 38 + 'x|"\n' + "x|y\n" * 60,
        "never closed",
        line=40,
        column="b",
        options={"delimiter": "|"},
    ),
    refused(
        "lone_quote_found.csv",
        "a|b\n" + "x|y\n" * 38 + 'x|"\n' + "x|y\n" * 60,
        "never closed",
        line=40,
        column="b",
    ),
    refused(
        "two_lone_quotes.csv", 'a,b\nx,"\ny,z\ny,"\n', "lone quote", "line 4", line=2, column="b"
    ),
    refused("after_quote.csv", 'a,b\n"x" y,z\n', "closes before ' y,z'", line=2, column="a"),
    refused("unescaped.csv", 'a,b\n"he said "no" twice",z\n', "double", line=2, column="a"),
    refused("nul.csv", b"a,b\nx\0,y\n", "NUL", "position 2", line=2),
    refused("utf16_unmarked.csv", PLAIN.encode("utf-16-le"), "encoding: utf-16-le", line=1),
    refused(
        "latin1_unsaid.csv",
        "a,b\nok,ok\ncaf\u00e9,x\n".encode("latin-1"),
        "0xE9",
        "position 4",
        "cp1252",
        "caf\u00e9",
        line=3,
    ),
    refused(
        "wrong_ascii.csv",
        "a,b\n\u00e9,x\n",
        "not ascii",
        "position 1",
        line=2,
        options={"encoding": "ascii"},
    ),
    refused("cut_utf8.csv", "a,b\nx,\u20ac".encode()[:-1], "not utf-8", line=2),
    refused("odd_utf16.csv", PLAIN.encode("utf-16")[:-1], "not utf-16", line=2),
    refused(
        "contradiction.csv",
        PLAIN.encode("utf-16"),
        "utf-16-le",
        "leave `encoding` away",
        options={"encoding": "utf-8"},
    ),
    refused("unknown_encoding.csv", PLAIN, "utf8x", "'utf-8'", options={"encoding": "utf8x"}),
    refused("no_text_encoding.csv", PLAIN, "base64", options={"encoding": "base64"}),
    refused(
        "unmarked.csv",
        PLAIN.encode("utf-16-le"),
        "byte-order mark",
        "utf-16-be",
        options={"encoding": "utf-16"},
    ),
    refused(
        "tie.csv",
        "a,b;c\n1,2;3\n",
        "not clear",
        "commas give",
        "semicolons give",
        "delimiter: ';'",
        line=1,
    ),
    refused("comma.tsv", "a,b\n1,2\n", "no tab", "delimiter: ','", line=1),
    refused("quote_delimiter.csv", PLAIN, "delimiter", options={"delimiter": '"'}),
    refused("workbook.csv", b"PK\x03\x04rest", "Excel"),
    refused("damaged.csv.gz", gzip.compress(PLAIN.encode() * 99)[:-20], "gzip"),
    refused("array_line.jsonl", '{"a": 1}\n[1, 2]\n', "a list where an object", line=2),
    refused("text_line.jsonl", '{"a": 1}\n\n"x"\n', "a text where an object", line=3),
    refused("twice.jsonl", '{"a": 1}\n{"a": 1, "a": 2}\n', "'a' stands twice", line=2),
    refused("twice_inside.jsonl", '{"a": {"b": 1, "b": 2}}\n', "'b' stands twice", line=1),
    refused("nan.jsonl", '{"a": 1}\n{"a": NaN}\n', "NaN is not JSON", line=2),
    refused("infinity.jsonl", '{"a": -Infinity}\n', "Infinity", line=1),
    refused("too_large.jsonl", '{"a": 1e999}\n', "too large", line=1),
    refused("digits.jsonl", '{"a": ' + "1" * 5000 + "}\n", "too long", line=1),
    refused("deep.jsonl", '{"a": ' + "[" * 100_000 + "}\n", "nested", line=1),
    refused(
        "two_on_a_line.jsonl", '{"a": 1} {"a": 2}\n', "text after the object", "position 9", line=1
    ),
    refused("pretty.jsonl", '{\n "a": 1\n}\n', "format: json", line=1),
    refused("single_quotes.jsonl", "{'a': 1}\n", "position 2", line=1),
    refused("control.jsonl", '{"a": "x\ty"}\n', "control character", line=1),
    refused("blank_key.jsonl", '{"": 1}\n', "no name", line=1),
    refused("later_blank_key.jsonl", '{"a": 1}\n\n{"a": 1, " ": 2}\n', "no name", line=3),
    refused("blank_key.json", '[{"a": 1},\n {"": 2}]', "no name", line=2),
    refused("no_keys.jsonl", "{}\n", "no keys"),
    refused("bad_utf8.jsonl", b'{"a": "x"}\n{"a": "\xff"}\n', "0xFF", "position 8", line=2),
    refused("one_object.json", '{"a": "x", "b": [1]}', "'a', 'b'", "array of"),
    refused("columns.json", '{"a": ["x"], "b": ["y"]}', "list of objects"),
    refused("two_tables.json", '{"train": [{"a": 1}], "test": [{"a": 2}]}', "'train', 'test'"),
    refused("scalars.json", '[{"a": 1},\n 2]', "a number where an object", line=2),
    refused("open.json", '[{"a": 1},\n {"a": 2}', "expected ','", line=2),
    refused("trailing.json", '[{"a": 1}]\nx', "after the end", line=2),
    refused("trailing_comma.json", '[{"a": 1},\n]', "position 1", line=2),
    refused("broken.json", '[{"a": 1},\n {"a" 2}]', "position 7", line=2),
    refused("not.json", "hello", "begins with", line=1),
    refused("empty_array.json", "[]", "no rows"),
    refused("nan.json", '[{"a": NaN}]', "NaN", line=1),
    refused("not_parquet.parquet", b"PAR1 no", "Parquet"),
]
