"""Sentence boundaries, by rules that keep exact positions and run in linear time.

Rules rather than a library, since those tried cut inside CRLF and URLs, took quotes that are never
closed for one sentence, or (UAX #29) know no abbreviations. Where a full stop may end a sentence
or an abbreviation, the next word decides; where nothing decides, the sentence goes on: a missed
boundary makes a sentence longer, a wrong one tears a name or a number apart.
"""

from collections.abc import Iterator

import regex

_WIDE = "。！？｡．⁇⁈⁉‼"  # need no space after them
_NARROW = ".!?…‥؟۔।॥။።፧፨"
_CLOSERS = "\"'”’»›」』）)\\]】》〉〕｝}*_`~"

_TERMINATOR = regex.compile(
    rf"(?P<marks>[{_WIDE}{_NARROW}]+\p{{Gcb=Extend}}*)"
    rf"(?P<closers>(?:[{_CLOSERS}]|\[\d+\])*\p{{Gcb=Extend}}*)"
)
_CONTINUATION = frozenset("、，,;；:：·・)）]】」』")
_UNSPACED_LETTER = regex.compile(r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]")
_BLANKS = regex.compile(r"[\s\x1c-\x1f]*")
_LAST_WORD = regex.compile(  # (?r): matched backwards from the full stop
    r"(?r)(?:(?P<before>[\p{L}\p{N}.'’]+)[ \u00a0])?(?P<word>[\p{L}\p{M}\p{N}.&'’\-]+)"
)
_FIRST_WORD = regex.compile(r"[\p{L}\p{M}]+(?:['’]\p{L}+)?")
_INITIALISM = regex.compile(r"\p{L}|(?:\p{L}{1,2}\.)+\p{L}{1,2}")
_LOOK_BEHIND = 64  # code points; longer than any abbreviation with the word before it


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_BEFORE_A_NAME = _words(
    """mr mrs ms mx dr prof rev hon gen col lt capt cpt cmdr sgt maj adm gov sen rep pres supt
    messrs mme mlle mgr mt ft hr fr sra dra dott sig ing dipl"""
)
_WITHIN = _words(
    """e.g i.e eg ie cf vs viz approx ca resp incl excl esp bzw z.b d.h u.a vgl evtl ggf p.ex
    t.ex"""
)
_BEFORE_A_NUMBER = _words(
    """no nr nos fig figs vol vols ch chap sec sect art eq eqs tab p pp pt par para op ex ref refs
    app cap ver v tel ext jan feb mar apr jun jul aug sep sept oct nov dec abb bd s z núm"""
)
_MONTHS = _words(
    """january february march april may june july august september october november december
    januar februar märz mai juni juli oktober dezember jänner januari februari maart mei augustus"""
)
# Words that begin a sentence far more often than they follow an initial or "U.S." inside one.
_OPENERS = _words(
    """a after all also although an and another as at because before both but by did do does during
    each either even every finally first following for from given had has have he hence her here his
    how however i if in indeed instead is it it's its later let many meanwhile moreover most my
    neither next no none nor not now of on once one or other our over perhaps several she similarly
    since so some still such that the their then there therefore these they this those though thus
    to today together too two under unlike until we we're what when where whether which while who
    why will with without would yes yet you your der die das ein eine er sie es wir ich und aber
    wenn dann dies diese le la les un une il elle nous vous et mais el los las una y pero"""
)


def sentence_ends(text: str, start: int, stop: int) -> Iterator[int]:
    """Where sentences end inside `text[start:stop]`, closing quotes included; never at `stop`."""
    previous = start
    for found in _TERMINATOR.finditer(text, start, stop):
        end = found.end()
        if end < stop and _ends_sentence(text, found, stop, previous):
            yield end
            previous = end


def _ends_sentence(text: str, found: "regex.Match[str]", stop: int, previous: int) -> bool:
    marks, closers, end = found["marks"], found["closers"], found.end()
    following = text[end]
    if following in _CONTINUATION:
        return False
    if any(mark in _WIDE for mark in marks):
        return not (marks == "．" and following.isdecimal())
    if not following.isspace():
        return "." not in marks and _UNSPACED_LETTER.match(following) is not None
    beginning = _BLANKS.match(text, end, stop).end()  # type: ignore[union-attr]
    if beginning == stop:
        return False
    if text[beginning].islower():
        return not closers and marks[-1] in "!?"
    if marks != ".":
        return True
    return not _belongs_to_word(text, found.start(), beginning, stop, previous)


def _belongs_to_word(text: str, dot: int, beginning: int, stop: int, previous: int) -> bool:
    """Whether the full stop at `dot` is part of the word before it and ends nothing else."""
    last = _LAST_WORD.match(text, max(previous, dot - _LOOK_BEHIND), dot)
    if last is None:
        return False
    word = last["word"].lower()
    first = _FIRST_WORD.match(text, beginning, stop)
    opener = first[0].lower() if first else ""
    if word.isdecimal():
        return opener in _MONTHS or _opens_item(text, last.start("word"), previous)
    if word in _BEFORE_A_NAME or word in _WITHIN:
        return True
    if word == "st":  # Saint before a name, Street after one
        return not (last["before"] or "")[:1].isupper()
    if word in _BEFORE_A_NUMBER:
        return text[beginning].isdecimal() or (len(word) == 1 and opener not in _OPENERS)
    if word == "al" or _INITIALISM.fullmatch(last["word"]):
        return opener not in _OPENERS
    return False


def _opens_item(text: str, position: int, previous: int) -> bool:
    """Whether a number at `position` begins a line or a sentence, or follows a colon."""
    before = text[max(previous, position - _LOOK_BEHIND) : position]
    line = before.splitlines()[-1] if before else ""
    if not line.strip():
        return line != before or position - previous <= _LOOK_BEHIND
    return line.rstrip().endswith(":")
