"""Counts and offsets of Hugging Face tokenizers."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from chunk_assets.embedding.huggingface_tokenizer import HuggingFaceTokenizer, load_tokenizer
from chunk_assets.errors import EmbeddingError

UNKNOWN = "[UNK]"

# Letters with accents both ways, CJK, emoji of one and of several code points, marks, controls.
ANY_TEXT = st.text(
    alphabet=st.one_of(
        st.characters(),
        st.sampled_from("aé\u0301猫🚀👩\u200dﬁİ\u200b\r\n\t [CLS]</s>|"),
    ),
    max_size=60,
)


def saved(tokenizer: Tokenizer, folder: Path) -> HuggingFaceTokenizer:
    path = folder / "tokenizer.json"
    tokenizer.save(str(path))
    return HuggingFaceTokenizer(path, "saved")


def word_level(normalizer: normalizers.Normalizer, folder: Path) -> HuggingFaceTokenizer:
    tokenizer = Tokenizer(models.WordLevel({UNKNOWN: 0}, unk_token=UNKNOWN))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return saved(tokenizer, folder)


def pieces(tokenizer: HuggingFaceTokenizer, text: str) -> list[str]:
    return [text[start:end] for start, end in tokenizer.offsets(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[CLS] and </s>", ["[", "CL", "S", "]", "and", "<", "/", "s", ">"]),
        (
            "the marker <|endoftext|> ends it",
            ["the", "marker", "<", "|", "end", "oft", "ex", "t", "|", ">", "ends", "it"],
        ),
    ],
)
def test_control_tokens_in_a_text_are_ordinary_text(
    wordpiece: HuggingFaceTokenizer, text: str, expected: list[str]
) -> None:
    assert pieces(wordpiece, text) == expected
    assert wordpiece.count([text]) == [len(expected)]


def test_control_tokens_in_a_text_never_reach_the_model_as_such(
    wordpiece: HuggingFaceTokenizer,
) -> None:
    [[first, *content, last]] = wordpiece.model_inputs(["[SEP] here [PAD] and [CLS]"])

    assert (first, last) == (101, 102)
    assert not {0, 101, 102, 103} & set(content)


def test_offsets_are_code_points_of_the_original_text(wordpiece: HuggingFaceTokenizer) -> None:
    text = "Zoë’s 犬 sat 🚀 cafe\u0301 again"
    assert pieces(wordpiece, text) == [
        *["Zoë", "’", "s", "犬", "sat", "🚀", "cafe", "again"],
    ]


@pytest.mark.parametrize(
    "normalizer",
    [
        normalizers.NFD(),
        normalizers.NFC(),
        normalizers.NFKC(),
        normalizers.NFKD(),
        normalizers.Lowercase(),
        normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]),
    ],
    ids=lambda normalizer: type(normalizer).__name__,
)
def test_offsets_point_into_the_text_as_it_was_before_normalization(
    tmp_path: Path, normalizer: normalizers.Normalizer
) -> None:
    tokenizer = word_level(normalizer, tmp_path)
    text = "  Café ﬁn 🚀 İx 猫 é end"
    assert pieces(tokenizer, text) == ["Café", "ﬁn", "🚀", "İx", "猫", "é", "end"]


def test_tokens_that_are_parts_of_one_code_point_share_it(tmp_path: Path) -> None:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=256,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(["x"], trainer)
    byte_level = saved(tokenizer, tmp_path)

    assert byte_level.offsets("a🚀é").tolist() == [[0, 1], *[[1, 2]] * 4, *[[2, 3]] * 2]


@settings(max_examples=200, deadline=None)
@given(texts=st.lists(ANY_TEXT, max_size=4))
def test_the_count_is_the_number_of_offsets(
    wordpiece: HuggingFaceTokenizer, texts: list[str]
) -> None:
    assert wordpiece.count(texts) == [len(wordpiece.offsets(text)) for text in texts]


@settings(max_examples=200, deadline=None)
@given(text=ANY_TEXT)
def test_offsets_are_ordered_spans_inside_the_text(
    wordpiece: HuggingFaceTokenizer, text: str
) -> None:
    offsets = wordpiece.offsets(text)

    assert offsets.dtype == np.int64
    assert offsets.shape == (len(offsets), 2)
    assert (offsets >= 0).all()
    assert (offsets <= len(text)).all()
    assert (offsets[:, 0] <= offsets[:, 1]).all()
    assert (np.diff(offsets[:, 0]) >= 0).all()


def test_a_text_is_counted_whole_although_the_file_says_to_cut_it(
    model_folder: Path, wordpiece: HuggingFaceTokenizer
) -> None:
    rules = json.loads((model_folder / "tokenizer.json").read_text(encoding="utf-8"))
    assert rules["truncation"]["max_length"] == 128
    assert wordpiece.count(["word " * 700, "a"]) == [700, 1]


def test_more_texts_than_are_encoded_at_once_keep_their_order(
    wordpiece: HuggingFaceTokenizer,
) -> None:
    counts = [number % 7 for number in range(1200)]
    assert wordpiece.count(["cat " * count for count in counts]) == counts


def test_a_lone_surrogate_is_counted_without_moving_what_follows(
    wordpiece: HuggingFaceTokenizer,
) -> None:
    text = "ab \ud800 cd"
    assert wordpiece.offsets(text).tolist()[-1] == [5, 7]
    assert wordpiece.count([text]) == [len(wordpiece.offsets(text))]


def test_cut_inputs_keep_their_special_tokens(wordpiece: HuggingFaceTokenizer) -> None:
    [whole] = wordpiece.model_inputs(["one two three four"])
    assert wordpiece.cut_model_inputs(["one two three four"], 2) == [[*whole[:3], whole[-1]]]


def test_special_tokens_are_known_by_side(wordpiece: HuggingFaceTokenizer) -> None:
    assert wordpiece.special_tokens == 2
    assert wordpiece.leading_special_tokens == 1


def test_lower_casing_keeps_the_offsets(tmp_path: Path) -> None:
    tokenizer = Tokenizer(models.WordLevel({UNKNOWN: 0, "cat": 1}, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    saved(tokenizer, tmp_path)
    lower = HuggingFaceTokenizer(tmp_path / "tokenizer.json", "lower", lowercase=True)

    assert lower.model_inputs(["A CAT"]) == [[0, 1]]
    assert lower.offsets("A CAT").tolist() == [[0, 1], [2, 5]]


def test_the_fingerprint_ignores_formatting_truncation_and_padding(
    model_folder: Path, tmp_path: Path, wordpiece: HuggingFaceTokenizer
) -> None:
    rules = json.loads((model_folder / "tokenizer.json").read_text(encoding="utf-8"))
    rules["truncation"] = rules["padding"] = None
    copy = tmp_path / "tokenizer.json"
    copy.write_text(json.dumps(rules, indent=1), encoding="utf-8")

    assert load_tokenizer(copy, "copy").fingerprint == wordpiece.fingerprint


def test_the_fingerprint_changes_with_a_rule(
    model_folder: Path, tmp_path: Path, wordpiece: HuggingFaceTokenizer
) -> None:
    rules = json.loads((model_folder / "tokenizer.json").read_text(encoding="utf-8"))
    rules["normalizer"]["lowercase"] = False
    (tmp_path / "tokenizer.json").write_text(json.dumps(rules), encoding="utf-8")

    assert load_tokenizer(tmp_path, "copy").fingerprint != wordpiece.fingerprint


def test_a_folder_without_a_tokenizer_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match=r"no tokenizer\.json at .*save_pretrained"):
        load_tokenizer(tmp_path, "none")


def test_a_damaged_tokenizer_is_named(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(EmbeddingError, match=r"'broken'.*tokenizer\.json cannot be read"):
        load_tokenizer(tmp_path, "broken").count(["a"])


def test_counting_loads_neither_torch_nor_transformers(model_folder: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from chunk_assets.embedding.huggingface_tokenizer import load_tokenizer\n"
        "tokenizer = load_tokenizer(Path(sys.argv[1]), 'm'); tokenizer.count(['a'])\n"
        "tokenizer.fingerprint\n"
        "assert not {'torch', 'transformers', 'sentence_transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, str(model_folder)], check=True)
