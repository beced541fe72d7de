# ruff: noqa: ANN401
# docutils is untyped where its states are to be overridden.
"""docutils' reStructuredText states, changed to locate constructs and to execute nothing.

Three changes to `docutils.parsers.rst.states`, in subclasses of its public state classes:

* Directives, substitutions and targets are found, never run. No file is included, no role or
  directive is looked up or registered, and nothing outside the text can have an effect.
* Every node that stands for a leaf or a list item carries its 1-based first line (`node.line`);
  where the source of the node does not say how long it is, `node["end"]` is its last line.
* Taking the rest of the input, which docutils does at every list, no longer copies it, and the
  machine that parses a list makes only the states it enters: time stays linear.
"""

import re
from collections.abc import Sequence
from typing import Any, ClassVar, cast

from docutils import frontend, nodes, utils
from docutils.parsers import rst
from docutils.parsers.rst import states
from docutils.statemachine import StringList

_MAX_NESTING = 40
"""Deeper nesting is refused with `NestingError`. A fixed number, because what Python's recursion
limit leaves depends on the caller."""
_TAB_WIDTH = 8
"""The tab stops that the reStructuredText specification prescribes."""
_OPTION = re.compile(r":[\w-]+:( |$)")
# fmt: off
_PROSE_DIRECTIVES = frozenset({
    "admonition", "attention", "caution", "class", "compound", "container", "danger", "deprecated",
    "dropdown", "epigraph", "error", "highlights", "hint", "important", "note", "only",
    "pull-quote", "rubric", "seealso", "sidebar", "tab", "tab-item", "tab-set", "table", "tabs",
    "tip", "todo", "topic", "versionadded", "versionchanged", "versionremoved", "warning",
})
# fmt: on
"""Directives whose content is ordinary body text; the content of all others stays unparsed."""


class NestingError(Exception):
    """The text nests deeper than any reader would."""


class Directive(nodes.Element):
    """A directive: `name`, `argument`, `end`; its content lines (`line` included) in `lines`."""


def parse_document(lines: Sequence[str]) -> nodes.document:
    """Parse normalized lines into a flat document tree (titles are leaves, sections none).

    Raises:
        NestingError: where constructs are nested too deep.
    """
    settings = frontend.get_default_settings(rst.Parser)
    # Nothing is executed, see above; these say so to docutils as well.
    settings.file_insertion_enabled = False
    settings.raw_enabled = False
    settings.report_level = 5  # above "severe": nothing is reported
    settings.halt_level = 5
    settings.warning_stream = False
    document = utils.new_document("", settings)
    machine = states.RSTStateMachine(state_classes=STATE_CLASSES, initial_state="Body")
    expanded = [
        line.replace("\v", " ").replace("\f", " ").expandtabs(_TAB_WIDTH).rstrip() for line in lines
    ]
    machine.run(Lines(expanded, source=""), document, inliner=cast(Any, _NoInlineMarkup()))
    return document


class _NoInlineMarkup:
    """Stands in for docutils' inliner: blocks are all that is wanted of a paragraph."""

    def init_customizations(self, settings: object) -> None:
        """Take no notice of settings."""

    def parse(
        self, text: str, lineno: int, memo: object, parent: object
    ) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the text as it is."""
        return [nodes.Text(text)], []


class _Rest:
    """The rest of a list from an index on, without a copy until it is changed."""

    def __init__(self, base: Any, start: int) -> None:
        is_rest = isinstance(base, _Rest)
        self._base: list[Any] = base._base if is_rest else base
        self._start: int = min(start + (base._start if is_rest else 0), len(self._base))

    def __len__(self) -> int:
        return len(self._base) - self._start

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            start, stop, _ = index.indices(len(self))
            return self._base[self._start + start : self._start + stop]
        if index < 0:
            index += len(self)
            if index < 0:
                raise IndexError
        return self._base[self._start + index]

    def __setitem__(self, index: int | slice, value: Any) -> None:
        self._own()[index] = value

    def __delitem__(self, index: int | slice) -> None:
        del self._own()[index]

    def _own(self) -> list[Any]:
        self._base, self._start = self._base[self._start :], 0
        return self._base


class Lines(StringList):
    """Input lines whose open slices are views."""

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice) or index.stop is not None:
            return super().__getitem__(index)
        rest = Lines()
        start = index.start or 0
        rest.data = cast(Any, _Rest(self.data, start))
        rest.items = cast(Any, _Rest(self.items, start))
        rest.parent, rest.parent_offset = self, start
        return rest


class _States(dict[str, states.RSTState]):
    """The states of a machine, each made when it is first entered."""

    def __init__(self, machine: Any, classes: Sequence[type[states.RSTState]]) -> None:
        super().__init__()
        self._machine = machine
        self._classes = {state.__name__: state for state in classes}

    def __missing__(self, name: str) -> states.RSTState:
        state = self[name] = self._classes[name](self._machine, self._machine.debug)
        if getattr(self._machine, "memo", None) is not None:  # it is running already
            state.runtime_init()
        return state


class _NestedMachine(states.NestedStateMachine):
    """One is made for every list, which enters one or two of the fifteen states."""

    def add_states(self, state_classes: Any) -> None:
        """Note the states that there are."""
        self.states = _States(self, state_classes)  # type: ignore[assignment]


class _Located(states.RSTState):
    """What every state does differently."""

    nested_sm = _NestedMachine
    # docutils keeps idle machines here; those of its own states must not be mixed with ours.
    nested_sm_cache: ClassVar[list[Any]] = []  # type: ignore[misc]

    def __init__(self, state_machine: Any, debug: bool = False) -> None:
        super().__init__(state_machine, debug)
        self.nested_sm_kwargs = {"state_classes": STATE_CLASSES, "initial_state": "Body"}

    def nested_parse(self, *args: Any, **kwargs: Any) -> int:
        """Parse a nested block, up to a fixed depth."""
        depth = getattr(self.memo, "nesting", 0)
        if depth >= _MAX_NESTING:
            raise NestingError
        self.memo.nesting = depth + 1
        offset = super().nested_parse(*args, **kwargs)
        self.memo.nesting = depth
        return offset

    def section(
        self,
        title: str,
        source: str,
        style: Any,
        lineno: int,
        messages: object,
    ) -> None:
        """Append the title alone: its level is the order in which its style first occurred."""
        styles = self.memo.title_styles
        if style not in styles:
            styles.append(style)
        node = nodes.title(title, title)
        has_overline = len(style) == 2
        line = self._line(lineno)
        node.line = line - 1 if has_overline else line
        node["end"] = line + 1
        node["level"] = styles.index(style) + 1
        self.parent += node

    def _line(self, lineno: int | None = None) -> int:
        """The 1-based line of the document at `lineno`, or of the current line."""
        return cast(int, self.state_machine.get_source_and_line(lineno)[1])


class _LocatedBody(_Located, states.Body):
    """What the states that begin body elements do differently."""

    def explicit_construct(self, match: re.Match[str]) -> tuple[list[nodes.Node], bool]:
        """Find where the construct ends; keep what holds body text, code or a table."""
        machine = cast(states.RSTStateMachine, self.state_machine)
        kind, marker = "comment", match
        for method, pattern in self.explicit.constructs:
            if found := pattern.match(match.string):
                kind, marker = method.__name__, found
                break
        is_empty = kind == "comment" and not match.string[match.end() :].strip()
        if is_empty and machine.is_next_line_blank():
            return [], True  # an empty comment ends here, whatever is indented below it
        line = self._line()
        block, _, offset, blank_finish = machine.get_first_known_indented(
            marker.end(), until_blank=kind == "hyperlink_target", strip_top=False
        )
        if kind not in ("directive", "footnote", "citation"):
            return [], blank_finish
        name = marker[1].lower()
        node = Directive(name=name if kind == "directive" else kind)
        node.line = line
        node["end"] = line + len(block) - 1
        node["argument"] = block[0].strip()
        node["lines"] = list(block)
        if kind != "directive" or name in _PROSE_DIRECTIVES:
            content = 0 if block[0] else 1
            while content and content < len(block) and _OPTION.match(block[content]):
                content += 1
            self.nested_parse(block[content:], offset + content, node)
        return [node], blank_finish or machine.is_next_line_blank()

    def anonymous_target(self, match: re.Match[str]) -> tuple[list[nodes.Node], bool]:
        """Find where an anonymous target ends."""
        machine = cast(states.RSTStateMachine, self.state_machine)
        *_, blank_finish = machine.get_first_known_indented(match.end(), until_blank=True)
        return [], blank_finish

    def split_attribution(self, indented: Any, line_offset: int) -> Any:
        """Leave attributions with the paragraphs of their quote: docutils is quadratic in them."""
        return indented, None, None, None, None

    def option_list_item(self, match: re.Match[str]) -> Any:
        """Locate an item of an option list."""
        line = self._line()
        item, blank_finish = super().option_list_item(match)  # type: ignore[no-untyped-call]
        item.line = line
        return item, blank_finish

    def table(self, isolate_function: Any, parser_class: Any) -> Any:
        """Locate a table."""
        line = self._line()
        found, blank_finish = super().table(isolate_function, parser_class)  # type: ignore[no-untyped-call]
        for node in found:
            if isinstance(node, nodes.table):
                node.line = line
                node["end"] = self._line()
        return found, blank_finish

    def build_table(
        self,
        tabledata: Any,
        tableline: int,
        *args: object,
        **kwargs: object,
    ) -> nodes.table:
        """Keep where the rows begin; cells are not parsed."""
        _, head_rows, body_rows = tabledata
        node = nodes.table()
        node["header_rows"] = len(head_rows)
        node["rows"] = [
            self._line(tableline + min(offsets))
            for row in body_rows
            if (offsets := [cell[2] for cell in row if cell is not None])
        ]
        return node


def _located(state: type[states.RSTState]) -> type[states.RSTState]:
    base = _LocatedBody if issubclass(state, states.Body) else _Located
    # docutils looks states up by the names of their classes.
    return cast(type[states.RSTState], type(state.__name__, (base, state), {}))


STATE_CLASSES = tuple(_located(state) for state in states.state_classes)
