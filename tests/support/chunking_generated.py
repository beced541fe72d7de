"""Generated documents: Markdown-like ones of many scripts, and arbitrary text with odd blocks."""

from dataclasses import dataclass

from chunking_documents import document
from chunking_tokenizers import byte_level, wordpiece
from hypothesis import strategies as st

from chunk_assets.chunking.chunk import Chunk
from chunk_assets.chunking.pipeline import chunk_document
from chunk_assets.chunking.settings import StrategySettings
from chunk_assets.chunking.strategy import CHUNKERS, parse_strategy
from chunk_assets.embedding.tokenizer import Tokenizer
from chunk_assets.parsing.document import Block, BlockKind, Document

WORDS = [
    "the", "pump", "internationalization", "a.m.", "Dr.", "No. 7", "3.14", "U.S.", "e.g.", "x",
    "https://ex.org/v1.2?a=b", "k" * 130, "don't", "naïve", "e\u0301te\u0301", "Z\u0351\u036b",
    "猫在睡觉。", "「行こう。」", "東京都に住んでいます！", "你好", "กำลังน้ำที่นี่", "แมวกินปลา", "ภาษา",
    "नमस्ते", "क्षत्रिय।", "שלום\u200f", "مرحبا؟", "؀12", "ខ្ញុំស្រលាញ់", "မြန်မာ", "\u1100\u1161\u11a8",
    "👨‍👩‍👧‍👦", "🇩🇪🇫🇷🇯", "👍🏽", "❤️", "\u200b", "a\u00a0b", "\x00", "\u0301", "word\u00ad", "🚀",
    "<|endoftext|>", "[CLS]", "**bold.**", "—", "(see", "1)", '"Go!"', "’tis", "ﬁn", "\ufeff",
]  # fmt: skip
ENDS = [".", ".", ".", "!", "?", "...", "。", "", ":", '."', ".)"]
BLANKS = [" ", " ", " ", " ", "  ", "\t", "\u3000", "\u2003", " \u0301"]


@dataclass
class Builder:
    """Collects text and blocks."""

    newline: str
    text: str = ""

    def __post_init__(self) -> None:
        self.blocks: list[Block] = []
        self.path: list[tuple[int, str]] = []

    def add(self, kind: BlockKind, text: str, level: int = 0, page: int | None = None) -> None:
        if kind is BlockKind.HEADING:
            title = text.strip("# ")
            self.path = [*((depth, name) for depth, name in self.path if depth < level)]
            self.path.append((level, title))
        names = tuple(name for _, name in self.path)
        start = len(self.text)
        self.text += text
        self.blocks.append(Block(kind, start, len(self.text), level, names, page))


words = st.sampled_from(WORDS) | st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6
)


@st.composite
def prose(draw: st.DrawFn, newline: str, most: int = 12) -> str:
    text = ""
    for word in draw(st.lists(words, min_size=1, max_size=most)):
        blank = draw(st.sampled_from([*BLANKS, newline])) if text else ""
        text += blank + word + draw(st.sampled_from(["", "", "", *ENDS]))
    return text


@st.composite
def markdown_like(draw: st.DrawFn) -> Document:
    newline = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    builder = Builder(newline)
    page = draw(st.none() | st.just(1))
    for _ in range(draw(st.integers(0, 8))):
        kind = draw(
            st.sampled_from(
                [
                    *[BlockKind.HEADING, BlockKind.PARAGRAPH] * 2,
                    BlockKind.LIST_ITEM,
                    BlockKind.CODE,
                    BlockKind.TABLE,
                    BlockKind.OTHER,
                    None,
                ]
            )
        )
        if page is not None:
            page += draw(st.integers(0, 1))
        if kind is BlockKind.HEADING:
            level = draw(st.integers(1, 4))
            heading = "#" * level + " " + draw(prose(" ", most=3))
            builder.add(kind, heading, level, page)
        elif kind is BlockKind.LIST_ITEM:
            level = draw(st.integers(1, 3))
            builder.text += "    " * (level - 1)
            builder.add(kind, "- " + draw(prose(newline, most=5)), level, page)
        elif kind in (BlockKind.CODE, BlockKind.TABLE):
            line = prose(" ", most=4)
            indents = st.sampled_from(["", "    ", "\t", " " * 70])
            lines = draw(st.lists(st.tuples(indents, line), min_size=1, max_size=5))
            text = newline.join(indent + line for indent, line in lines)
            builder.add(kind, f"```{newline}{text}{newline}```", 0, page)
        elif kind is not None:
            builder.add(kind, draw(prose(newline)), 0, page)
        else:
            builder.text += draw(prose(newline, most=4))  # in no block
        builder.text += draw(st.sampled_from([newline, newline * 2, newline * 3, " ", "", "\f"]))
    return document(builder.text, builder.blocks, title=draw(st.sampled_from(["", "The title"])))


@st.composite
def arbitrary(draw: st.DrawFn) -> Document:
    """Any text, with blocks that begin and end anywhere."""
    text = draw(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
        | st.lists(st.sampled_from([*WORDS, *BLANKS, "\r\n", "\n"]), max_size=20).map("".join)
    )
    edges = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    spans = list(zip(edges[0::2], edges[1::2], strict=False))
    kinds = draw(st.lists(st.sampled_from(BlockKind), min_size=len(spans), max_size=len(spans)))
    blocks = [
        Block(kind, *span, heading_path=("A", "B")[: index % 3])
        for index, (kind, span) in enumerate(zip(kinds, spans, strict=True))
    ]
    return document(text, blocks)


documents = markdown_like() | arbitrary()

CONTEXTS = [["title"], ["heading_path"], ["title", "heading_path"]]
UNITS = ["characters", "words", "wordpiece tokens", "byte-level tokens"]


@dataclass(frozen=True)
class Case:
    """A document, how it is cut, and its chunks."""

    document: Document
    strategy: StrategySettings
    tokenizer: Tokenizer | None
    chunks: list[Chunk]


@st.composite
def cases(
    draw: st.DrawFn,
    chunker: str | None = None,
    unit: str | None = None,
    with_overlap: bool | None = None,
    with_context: bool | None = None,
) -> Case:
    """Cut documents of one combination (or any), with limits so small that everything is cut."""
    chunker = chunker or draw(st.sampled_from(list(CHUNKERS)))
    unit = unit or draw(st.sampled_from(UNITS))
    maximum = draw(st.integers(2, 60))
    values: dict[str, object] = {
        "chunker": chunker,
        f"max_{unit.split()[-1]}": maximum,
        "overlap": 0,
        "min_size": draw(st.just(0) | st.integers(0, maximum)),
        "context": [],
    }
    if draw(st.booleans()) if with_overlap is None else with_overlap:
        values["overlap"] = draw(st.integers(1, maximum - 1) | st.floats(0.1, 0.9))
    if draw(st.booleans()) if with_context is None else with_context:
        values["context"] = draw(st.sampled_from(CONTEXTS))
    if chunker == "hierarchy":
        values["min_section"] = draw(st.none() | st.integers(0, maximum))
    tokenizers = {"wordpiece tokens": wordpiece, "byte-level tokens": byte_level}
    tokenizer = tokenizers[unit]() if unit in tokenizers else None
    strategy = parse_strategy(values)
    document = draw(documents)
    return Case(document, strategy, tokenizer, chunk_document(document, strategy, tokenizer))
