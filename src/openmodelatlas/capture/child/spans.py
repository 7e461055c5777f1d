"""Functions that ran and the exact expressions in them (PEP 657: ``code.co_positions()``)."""

from __future__ import annotations

import dis
import functools
import inspect
import sys
from collections.abc import Sequence
from types import CodeType

from openmodelatlas.capture.child.frames import FileTable, file_lines
from openmodelatlas.capture.recording import Code, Span

_OPERATOR_INSTRUCTIONS = frozenset(
    number
    for name, number in dis.opmap.items()
    if name.startswith(("BINARY_OP", "COMPARE_OP", "UNARY_NEGATIVE", "UNARY_INVERT", "UNARY_POSITIVE"))
)


_OF_STATEMENTS = frozenset(
    number
    for name, number in dis.opmap.items()
    if name.startswith(("GET_ITER", "GET_AITER", "FOR_ITER", "UNPACK_", "BEFORE_WITH", "BEFORE_ASYNC_WITH"))
    or ("JUMP" in name and "_IF_" in name)
)
"""Instructions that use a value for a statement, with the position of the whole statement (or of the target)."""

_LEFT = frozenset(number for name, number in dis.opmap.items() if name.startswith(("CALL", "WITH_EXCEPT_START")))
_ENTERED = frozenset(number for name, number in dis.opmap.items() if name.startswith(("BEFORE_WITH", "BEFORE_ASYNC")))
_EXTENDED = dis.EXTENDED_ARG
_ALONE = frozenset({dis.opmap["LOAD_GLOBAL"], dis.opmap["LOAD_FAST"]})
_NAMED = {
    dis.opmap[name]: shift
    for name, shift in (
        ("LOAD_ATTR", int(sys.version_info >= (3, 12))),
        ("LOAD_METHOD", 0),
        ("STORE_ATTR", 0),
        ("LOAD_GLOBAL", 1),
        ("LOAD_FAST", -1),
    )
    if name in dis.opmap
}
"""Instructions that use a name where it stands, and how many low bits of their argument are something else; -1: it is
a variable's."""

_FILLERS = frozenset(
    number for name, number in dis.opmap.items() if name in {"CACHE", "EXTENDED_ARG", "COPY", "PRECALL"}
)

Position = tuple[int | None, int | None, int | None, int | None]
"""Line, end line, column, end column of one instruction."""

_SUSPENDED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class RunningCode:
    """What is known of one code object while it is recorded.

    Attributes:
        code: the code object; held, so that its ``id`` stays its own.
        index: index into ``Recording.codes``; -1 for the ``forward`` of torch's modules.
        file: index into ``Recording.files``; -1 like ``index``.
        arguments: parameter names that call records list, in order, ``self`` and ``cls`` left out.
        is_forward: whether it is the ``forward`` of the module that is its first argument, if that is one.
        receiver: name of the first parameter, empty if there is none.
        generator: whether frames of it are suspended and resumed.
        sites: instruction offset to (index of its span, whether an operator runs there).
    """

    __slots__ = ("arguments", "code", "file", "generator", "index", "is_forward", "receiver", "sites")

    def __init__(self, code: CodeType, index: int, file: int) -> None:
        names = parameter_names(code)
        self.code = code
        self.index = index
        self.file = file
        self.receiver = names[0] if code.co_argcount else ""
        self.arguments = tuple(n for i, n in enumerate(names) if not (i == 0 and n in {"self", "cls"}) and n[0] != ".")
        self.generator = bool(code.co_flags & _SUSPENDED)
        self.is_forward = code.co_name == "forward"
        self.sites: dict[int, tuple[int, bool]] = {}


def parameter_names(code: CodeType) -> tuple[str, ...]:
    """Names of all parameters of ``code``: positional, keyword-only, ``*args`` and ``**kwargs``, in that order."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[:count]


class SpanTable:
    """The codes and spans of one recording."""

    def __init__(self, files: FileTable) -> None:
        self._files = files
        self._codes: list[RunningCode] = []
        self._positions: dict[int, list[Position]] = {}
        self._spans: list[Span] = []
        self._interned: dict[Span, int] = {}

    def add(self, code: CodeType) -> RunningCode:
        """Enter a function of a model file that starts to run for the first time."""
        running = RunningCode(code, len(self._codes), self._files.index(code.co_filename))
        self._codes.append(running)
        return running

    def site(self, running: RunningCode, offset: int) -> tuple[int, bool]:
        """Span index of the instruction at ``offset`` (``f_lasti``), -1 if it has no columns; if it is an operator."""
        known = running.sites.get(offset)
        if known is None:
            known = running.sites[offset] = self._locate(running, offset)
        return known

    def _locate(self, running: RunningCode, offset: int) -> tuple[int, bool]:
        code = running.code
        if running.index < 0 or offset < 0:
            return -1, False
        positions = self._positions.get(id(code))
        if positions is None:
            positions = self._positions[id(code)] = list(code.co_positions())
        operator = code.co_code[offset] in _OPERATOR_INSTRUCTIONS
        line, end_line, column, end_column = positions[_evaluated(code.co_code, offset, positions) // 2]
        if line is None or end_line is None or column is None or end_column is None:
            return -1, operator
        span = Span(running.file, line, column, end_line, end_column)
        index = self._interned.setdefault(span, len(self._spans))
        if index == len(self._spans):
            self._spans.append(span)
        return index, operator

    def spans(self) -> list[Span]:
        """All spans so far, in order of their numbers."""
        return list(self._spans)

    def codes(self) -> list[Code]:
        """All functions that ran, in order of their numbers."""
        return [
            Code(
                file=running.file,
                name=running.code.co_qualname,
                first_line=running.code.co_firstlineno,
                last_line=last_line(running.code),
            )
            for running in self._codes
        ]


def _evaluated(instructions: bytes, offset: int, positions: list[Position]) -> int:
    """Offset of the instruction whose position is the expression that is used at ``offset``.

    ``for row in rows`` iterates with the position of the whole loop, ``if mask:`` tests with that of the whole ``if``,
    ``a, b = pair`` unpacks with that of the target; the value itself was made by the instruction before. A context
    manager is left with the position of its ``with`` statement, like the instruction that entered it.
    """
    if instructions[offset] in _LEFT:
        for entered in range(0, offset, 2):
            if instructions[entered] in _ENTERED and positions[entered // 2] == positions[offset // 2]:
                return _evaluated(instructions, entered, positions)
        return offset
    while offset > 0 and instructions[offset] in _OF_STATEMENTS:
        offset -= 2
        while offset > 0 and instructions[offset] in _FILLERS:
            offset -= 2
    return offset


def is_of_its_file(code: CodeType) -> bool:
    """Whether the file that ``code`` names is there, and has the text that ``code`` was compiled from.

    A program can compile any text under any name. Of the file's own text, the ``def``, ``class`` or ``lambda`` stands
    where the code says that it begins, and names end where the code says that they do; one of five may not, since
    Python 3.11 places names in long f-strings badly. What a tool has added to the text has places that are taken, and
    too wide for a name: it does not count.
    """
    try:
        lines = file_lines(code.co_filename)
    except OSError:
        return False
    return _last_instruction_line(code) <= len(lines) and _begins(code, lines) and _has_names(code, lines)


def _begins(code: CodeType, lines: Sequence[str]) -> bool:
    """Whether the statement or ``lambda`` that makes the code begins on its first line (or its decorators do)."""
    name = code.co_name
    first = code.co_firstlineno
    if name.startswith("<"):
        return name != "<lambda>" or "lambda" in lines[max(first - 1, 0)]
    head = lines[max(first - 1, 0)]
    if not head.lstrip().startswith("@"):
        return name in head or head.rstrip().endswith("\\")
    return any(name in line for line in lines[first:])


def _has_names(code: CodeType, lines: Sequence[str]) -> bool:
    """Whether four of five names that the code uses end in ``lines`` where their instructions do."""
    instructions = code.co_code
    found = used = 0
    positions = list(code.co_positions())
    added: set[Position] = set()
    for place, number in enumerate(instructions[::2]):
        shift = _NAMED.get(number)
        if shift is None:
            continue
        first, line, start, column = position = positions[place]
        if line is None or start is None or column is None or position in added:
            continue
        argument = instructions[2 * place + 1]
        if place and instructions[2 * place - 2] == _EXTENDED:
            argument |= instructions[2 * place - 1] << 8  # the names of one function are fewer than 2**16
        name, text = code.co_names[argument >> shift] if shift >= 0 else code.co_varnames[argument], lines[line - 1]
        if number in _ALONE and (first != line or column - start != len(name.encode())):
            added.add(position)  # or a comprehension's ``.0``, or a private name
            continue
        if not text.isascii():  # columns count the bytes of UTF-8
            text = text.encode()[:column].decode(errors="replace")
            column = len(text)
        used += 1
        own = name if "__" not in name else (name, f"__{name.rpartition('__')[2]}")  # in code, it is _Class__name
        found += text.endswith(own, 0, column)
    return 5 * found >= 4 * used


def last_line(code: CodeType) -> int:
    """Last line of the function's text: the end of its block if its file can be read, else of its last instruction."""
    reached = _last_instruction_line(code)
    if code.co_name.startswith("<") or _is_left_after(file_lines(code.co_filename), code.co_firstlineno, reached):
        return reached
    return max(reached, _block_end(code.co_filename, code.co_firstlineno))


def _is_left_after(lines: Sequence[str], first_line: int, line: int) -> bool:
    """Whether the text that follows ``line`` is no longer of the block that begins at ``first_line``, for certain.

    Reading all tokens of all functions would take 0.04 s in each process (measured).
    """
    following = next((text for text in lines[line:] if text.strip()), None)
    if following is None or first_line > len(lines):
        return False
    return _indentation(following) <= _indentation(lines[first_line - 1]) and following.lstrip()[0] not in ")]}"


def _indentation(text: str) -> int:
    return len(text) - len(text.lstrip())


def _last_instruction_line(code: CodeType) -> int:
    ends = [end for _, end, _, _ in code.co_positions() if end is not None]
    nested = [_last_instruction_line(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return max([code.co_firstlineno, *ends, *nested])


@functools.cache
def _block_end(filename: str, first_line: int) -> int:
    """Last line of the ``def`` (decorators included) that begins at ``first_line``, trailing blank lines left out."""
    lines = file_lines(filename)
    try:
        block = inspect.getblock([f"{line}\n" for line in lines[first_line - 1 :]])
    except (SyntaxError, IndentationError):
        return first_line
    while block and not block[-1].strip():
        block.pop()
    return first_line + len(block) - 1
