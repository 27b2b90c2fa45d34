#!/usr/bin/env python3
"""Writes the manual page and the shell completions of the program openbnns from what it says with
--help. Usage: program_pages.py PROGRAM [--check]; --check compares with the files of the tree."""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "apps", "openbnns", "pages")
OPTION = re.compile(r"^  (?:-\w,)?(--[\w-]+)((?: \S+)*)(?:\s{2,}(.*))?$")
ARGUMENT = re.compile(r"^  ([a-z]+) ([A-Z]+)(?: REQUIRED)?(?: \.\.\.)?(?:\s{2,}(.*))?$")


def help_of(program, *command):
    return subprocess.run([program, *command, "--help"], check=True, capture_output=True,
                          text=True).stdout


def value_of(text):
    """What the help says behind the name: the value, its default, and whether it is required."""
    text = re.sub(r" Excludes:( --[\w-]+)+", "", text)
    required = " REQUIRED" in text
    text = text.replace(" REQUIRED", "").replace(" ...", "").strip()
    value, _, default = text.partition("=")
    return value, default, required


def parse(text):
    """Description, options and examples of one command."""
    page = {"about": text.split("\n", 1)[0], "options": [], "arguments": [], "examples": []}
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if line.startswith("Examples:"):
            page["examples"] = [text for text in lines[number + 1:]]
            break
        for pattern, kind in ((OPTION, "options"), (ARGUMENT, "arguments")):
            found = pattern.match(line)
            if not found:
                continue
            about = found.group(3) or lines[number + 1].strip()
            page[kind].append((found.group(1), *value_of(found.group(2) or ""), about))
    return page


def read_pages(program):
    text = help_of(program)
    names = re.findall(r"^  (\w+) {4,}", text.split("Subcommands:")[1].split("Examples:")[0], re.M)
    return parse(text), {name: parse(help_of(program, name)) for name in names}


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in ".'" else text


def verbatim(lines):
    while lines and not lines[-1]:
        lines = lines[:-1]
    return [".nf", *(roff(line) for line in lines), ".fi"]


def manual(top, pages):
    out = ['.\\" Written by tools/program_pages.py.',
           '.TH OPENBNNS 1 "" "OpenBNNS" "User Commands"',
           ".SH NAME", "openbnns \\- trains neural networks on the CPU, measures and applies them",
           ".SH SYNOPSIS", ".B openbnns", ".I COMMAND", "[\\fIOPTIONS\\fR]", ".SH DESCRIPTION",
           roff(top["about"]), "Each command has a section of its own.", ".SH OPTIONS"]
    for name, _, _, _, about in top["options"]:
        out += [".TP", f".B {roff(name)}", roff(about)]
    for command, page in pages.items():
        out += [f".SH COMMAND {command.upper()}", roff(page["about"]) + "."]
        for name, value, _, _, about in page["arguments"]:
            out += [".TP", f".I {roff(name.upper())}", roff(about)]
        for name, value, default, required, about in page["options"]:
            out += [".TP", f".BR {roff(name)}" + (f' " \\fI{roff(value)}\\fR"' if value else "")]
            notes = [f"default: {default}"] if default else []
            notes += ["required"] if required else []
            out.append(roff(about + (f" ({', '.join(notes)})" if notes else "")))
        out += [".PP", "Examples:", ".PP", *verbatim(page["examples"])]
    out += [".SH EXAMPLES", *verbatim(top["examples"]), ".SH SEE ALSO",
            "docs/program.md and docs/data.md of the sources."]
    return "\n".join(out) + "\n"


def bash(top, pages):
    cases = ""
    for command, page in pages.items():
        words = " ".join(option[0] for option in page["options"])
        cases += f"    {command}) words=\"{words}\" ;;\n"
    values = {}
    for page in pages.values():
        for name, value, _, _, _ in page["options"]:
            if "|" in value and not re.search("[A-Z]", value):
                values[name] = value.replace("|", " ")
    values["--network"] = "mlp lenet resnet-mini digits"
    choices = "".join(f"    {name}) words=\"{words}\" ;;\n"
                      for name, words in sorted(values.items()))
    commands = " ".join(pages)
    options = " ".join(option[0] for option in top["options"])
    return f"""# bash completion of openbnns; written by tools/program_pages.py.
_openbnns() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{commands} {options}" -- "$word"))
    return
  fi
  case $before in
{choices}  esac
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    [ "$before" = --network ] && COMPREPLY+=($(compgen -f -- "$word"))
    return
  fi
  if [[ $word != -* ]]; then
    [ "$before" = --data ] && COMPREPLY=($(compgen -W synthetic-digits -- "$word"))
    COMPREPLY+=($(compgen -f -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{cases}  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o filenames -F _openbnns openbnns
"""


def quoted(text):
    return text.replace("'", "'\\''").replace("[", "(").replace("]", ")").replace(":", ",")


def zsh(top, pages):
    out = ["#compdef openbnns", "# zsh completion of openbnns; written by tools/program_pages.py.",
           "local -a commands", "commands=("]
    out += [f"  '{name}:{quoted(page['about'])}'" for name, page in pages.items()]
    out += [")", "if (( CURRENT == 2 )); then", "  _describe command commands"]
    out += ["  _arguments " + " ".join(f"'{option[0]}'" for option in top["options"]), "  return",
            "fi", "case $words[2] in"]
    for name, page in pages.items():
        out.append(f"  {name})")
        out.append("    _arguments \\")
        for option, value, _, _, about in page["options"]:
            action = ":_files"
            if "|" in value and not re.search("[A-Z]", value):
                action = f":({value.replace('|', ' ')})"
            out.append(f"      '*{option}[{quoted(about)}]" +
                       (f":{quoted(value)}{action}' \\" if value else "' \\"))
        out += ["      '*:file:_files'", "    ;;"]
    return "\n".join(out + ["esac"]) + "\n"


def fish(top, pages):
    out = ["# fish completion of openbnns; written by tools/program_pages.py."]
    for option in top["options"]:
        out.append(f"complete -c openbnns -n __fish_use_subcommand -l {option[0][2:]}")
    for name, page in pages.items():
        out.append(f"complete -c openbnns -n __fish_use_subcommand -a {name} "
                   f"-d '{quoted(page['about'])}'")
        for option, value, _, _, about in page["options"]:
            more = " -r" if value else ""
            if "|" in value and not re.search("[A-Z]", value):
                more = f" -x -a '{value.replace('|', ' ')}'"
            out.append(f"complete -c openbnns -n '__fish_seen_subcommand_from {name}' "
                       f"-l {option[2:]}{more} -d '{quoted(about)}'")
    return "\n".join(out) + "\n"


def main():
    program, check = sys.argv[1], sys.argv[2:] == ["--check"]
    top, pages = read_pages(program)
    wrong = 0
    for name, make in (("openbnns.1", manual), ("openbnns.bash", bash), ("openbnns.zsh", zsh),
                       ("openbnns.fish", fish)):
        path = os.path.join(FOLDER, name)
        text = make(top, pages)
        if check:
            with open(path, encoding="utf-8") as file:
                if file.read() != text:
                    print(f"{path}: not what the program says; run tools/program_pages.py")
                    wrong = 1
            continue
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
