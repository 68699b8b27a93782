"""Looks for what docs/style.md tells us not to write: certain phrases, in everything that people read, and long lines.

`make check` runs it.
"""

import pathlib
import re
import subprocess
import sys

STYLE = pathlib.Path(__file__).with_name("style.md")
HEADING = "| don't write | write |\n|---|---|\n"
# These name the phrases. The others are not ours, or are data.
EXEMPT = re.compile(r"docs/(style|glossary)\.md|(.*/)?(Cargo|package-lock)\.(lock|json)|infra/tools/.*|fuzz/seeds/.*")
# Pages that programs write.
GENERATED = re.compile(r"docs/reference/(api|command-line|alert-payloads)\.md")
# The longest line, as in .editorconfig.
WIDTH = 120
# Files that contain no words.
BINARY = re.compile(r".*\.(png|gif|ico|zst|db|br|gz|woff2)")


def phrases():
    """The rows of the table: a pattern for what not to write, and what to write instead."""
    _, _, table = STYLE.read_text().partition(HEADING)
    rows = [row.strip("| ").split(" | ") for row in table.partition("\n\n")[0].splitlines()]
    if len(rows) < 10:
        sys.exit(f"{STYLE} has no table of phrases")
    for avoided, instead in rows:
        # A phrase may go on in the next line of a comment.
        between = r"(?:\s|//[/!]?|#)+"
        yield re.compile(rf"(?<!\w){between.join(map(re.escape, avoided.split()))}(?!\w)", re.I), avoided, instead


def long_lines(text):
    """The numbers of the lines of a page that are too long, without tables, code, HTML and what has no space."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        is_code ^= line.lstrip().startswith("```")
        if len(line) > WIDTH and not is_code and line.lstrip()[0] not in "|<" and " " in line[:WIDTH].strip():
            yield number


def main():
    listed = subprocess.run(["git", "ls-files", "-z"], check=True, capture_output=True, text=True).stdout
    wanted, found = list(phrases()), 0
    for path in listed.strip("\0").split("\0"):
        if EXEMPT.fullmatch(path) or BINARY.fullmatch(path) or not pathlib.Path(path).is_file():
            continue
        text = pathlib.Path(path).read_text()
        if path.endswith(".md") and not GENERATED.fullmatch(path):
            for number in long_lines(text):
                found += 1
                print(f"{path}:{number}: has more than {WIDTH} characters")
        lower = text.lower()
        for pattern, avoided, instead in wanted:
            if avoided.split()[0] not in lower:
                continue
            for match in pattern.finditer(text):
                found += 1
                print(f"{path}:{text.count(chr(10), 0, match.start()) + 1}: write {instead} instead of {avoided}")
    sys.exit(found > 0)


main()
