"""Terms of texts as sparse matrices: letters, words, numbers, codes, symbols.

Everything that two texts are compared by is a row of a matrix here, so that the features of a column of pairs are
products of rows. Texts are read in their normal form. A *word* is a run of letters or digits, or a single sign of Han
and kana, which have no blanks between words; where letters and digits meet within a run, as in `16gb`, its parts count
as terms of numbers and units as well. A *code* is a run of letters, digits and `- / . _` without such signs that holds
a digit and has at least four of the former, read without the punctuation: `TX-SR706` and `txsr706` are one code. A code
occurs in a text if it occurs in the text's letters and digits, whatever stands between them.

Vocabularies are sorted, so that nothing depends on the order of the texts.

Shape letters: N texts, W words, T terms of a kind.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, count, islice, pairwise, repeat
from typing import Any, TypeAlias
from unicodedata import category

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twicetold.features.cached import diagonal
from twicetold.features.folded import symbols
from twicetold.features.rows import weighted
from twicetold.features.word_hashing import WordHashing
from twicetold.normal_form import HAN_AND_KANA, normal_form
from twicetold.tables.notation import MINUS, plain_numbers

Csr: TypeAlias = Any
"""A SciPy CSR array of float32."""

WORD = re.compile(rf"[^\W_{HAN_AND_KANA}]+|[{HAN_AND_KANA}]")
AROUND = re.compile(rf"({WORD.pattern})")
PART = re.compile(rf"(?:(?<![^\s([])[{MINUS}])?\d+(?:\.\d+)?|[^\W\d_]+")  # a number with its sign, or letters
CODE = re.compile(rf"[^\W_{HAN_AND_KANA}]+(?:[_\-/.]+[^\W_{HAN_AND_KANA}]+)*")
SIGNS = "-#%!"  # besides those of mathematics and money
DIGIT = re.compile(r"\d")
LINK = re.compile(r"\bhttps?://[^\s/]+/\S*\d\S*")  # whose path is or has a code
SQUEEZED = re.compile(r"(?<![\d.])(\d+\.\d+)(?!\.?\d)|[\W_]+")  # a decimal stays, other signs go
DECIMAL, JOINED = re.compile(r"\d\.\d"), re.compile(r"[\W_]+")  # without a decimal the signs go several times as fast
CODE_LENGTHS = range(4, 17)  # letters and digits of a code
TOLD = 3  # codes or numbers that are told of a pair
PREFIX = 48  # characters of which a common beginning is measured
UNIT = 3  # most letters of a word after a number that are taken for its unit
SPELT = range(4, 21)  # letters of words that are compared by spelling
LONG, BEGINNING = 3, 20  # least letters of a word that is abbreviated, and most of its beginning
CROWD = 100  # words that a deletion makes equal; more are not compared (ordinary files have at most 31)
READ = 1 << 14  # texts whose terms are held as strings
BESIDE_LINKS = 4  # words of a text that says more than its links
WORDS, FEWEST = 3_000_000, 60  # distinct words of all texts, and those of a text that always count
SEARCHED = 1 << 20  # letters in which codes are searched for at a time
OF_TEXTS = (  # names of rows
    *("letters", "words", "present", "order", "joined", "numbers", "units", "measures", "codes", "contained"),
    *("symbols", "signs", "prefix", "length"),
)
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # of hashes


@dataclass(frozen=True)
class Terms:
    """Terms of N texts, as rows.

    Args:
        texts: N; of some of the texts, that of all.
        letters: (N, T) TF-IDF of letter trigrams, of unit length.
        grams: the trigrams.
        words: (N, W) TF-IDF of words, of unit length.
        present: (N, W) 1 where a text has a word.
        idf: (W,) of the words.
        vocabulary: the words.
        spelt: (W, W) 1 where two words differ by a letter that is missing, is another, or stands elsewhere.
        crowded: number of words that were not compared with all others by spelling.
        shortened: number of texts of which the most frequent words were left out.
        begins: (W, W) 1 where the second word is a beginning of the first: `univ` or `u` of `university`.
        order: (N, T) pairs of neighbouring words, 1 where a text has one.
        joined: (N, W) 1 where two neighbouring words of a text make the word: `play station` for `playstation`.
        halves: (W, W) 1 where the second word is a half of the first in such a text.
        numbers: (N, T) 1 where a text has a number.
        units: (N, T) 1 where a text has a number before this unit, or after this word.
        measures: (N, T) 1 where a text has this number with this unit or word.
        codes: (N, T) 1 where a text has a code.
        contained: (N, T) 1 where the letters and digits of a text contain the code.
        symbols: (N, T) 1 where a text has a symbol that is no sign.
        signs: (N, T) 1 where a text has a sign, as of `is_sign`.
        prefix: (N, PREFIX) first letters and digits, as code points of a type that holds them; 0 beyond the end.
        length: (N,) letters and digits.
    """

    texts: int
    letters: Csr
    grams: list[str]
    words: Csr
    present: Csr
    idf: NDArray[np.float32]
    vocabulary: list[str]
    spelt: Csr
    crowded: int
    shortened: int
    begins: Csr
    order: Csr
    joined: Csr
    halves: Csr
    numbers: Csr
    units: Csr
    measures: Csr
    codes: Csr
    contained: Csr
    symbols: Csr
    signs: Csr
    prefix: NDArray[np.integer]
    length: NDArray[np.float32]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Terms":
        """Return terms of texts, of which one may be empty.

        Examples:
            >>> from twicetold.matching.terms import Terms
            >>> Terms.of(["Sony TX-SR706, 16 GB", "sony txsr706"]).codes.toarray()
            array([[1.],
                   [1.]], dtype=float32)
        """
        return cls.of_folded(normal_form(texts))

    @classmethod
    def of_folded(cls, folded: Sequence[str], *, whole: bool = False) -> "Terms":
        """Return terms of texts that are in their normal form; `whole`: of all their words, however many these are."""
        folded = list(map(as_compared, folded))
        most, long, frequency = (0, [], Counter[str]()) if whole else long_texts(folded, len(folded))
        shorten(folded, long, frequency, most)
        blocks = [TermsOfBlock.of(folded[start : start + READ]) for start in range(0, max(len(folded), 1), READ)]
        known = Vocabulary.merged([block.vocabulary for block in blocks])
        rows = []
        while blocks:  # each is freed
            rows.append(known.rows(blocks.pop(0)))
        of_all = {name: stacked([each.pop(name) for each in rows]) for name in tuple(rows[0])}
        return known.terms(of_all, known.forms(of_all.pop("halves")), len(long))


@dataclass(frozen=True)
class TermsOfBlock:
    """Terms of a block of n texts, numbered within the block.

    Args:
        rows: (n, T) by kind: counts of `letters`, trigrams before symbols; 1 where a text has one of the other kinds,
            or in `order` a pair of neighbouring words.
        names: by kind the terms, in their order.
        numeric: (d,) texts with a digit.
        pieces: of these, letters and digits with 0 where they were joined.
        prefix: as of `Terms`.
        length: as of `Terms`.
    """

    rows: Mapping[str, Csr]
    names: Mapping[str, list[str]]
    numeric: NDArray[np.int64]
    pieces: list[str]
    prefix: NDArray[np.integer]
    length: NDArray[np.float32]

    @classmethod
    def of(cls, folded: Sequence[str]) -> "TermsOfBlock":
        """Read the terms of texts in their normal form with plain numbers."""
        word, lengths, vocabulary = _numbered(map(WORD.findall, folded))
        text, count = np.repeat(np.arange(len(lengths)), lengths), len(vocabulary)
        within = text[1:] == text[:-1]
        neighbours = (word[:-1] * count + word[1:])[within]
        pieces = [SQUEEZED.sub("\\1\0", text) if DECIMAL.search(text) else JOINED.sub("\0", text) for text in folded]
        squeezed = [text.replace("\0", "") for text in pieces]
        numeric = [row for row, text in enumerate(folded) if DIGIT.search(text)]
        parts = [PART.findall(folded[row]) for row in numeric]
        measures = list(map(measures_of, parts))
        measured = ([f"{unit} {value}" for unit, value in some] for some in measures)
        marks = list(map(symbols, folded))
        letters, grams, names = _letters(folded, marks)
        kinds = {
            "symbols": incidence([mark for mark in some if not is_sign(mark)] for some in marks),
            "signs": incidence(list(filter(is_sign, some)) for some in marks),
            "numbers": _spread(map(numbers_of, parts), numeric, len(folded)),
            "units": _spread(([unit for unit, _ in some] for some in measures), numeric, len(folded)),
            "measures": _spread(measured, numeric, len(folded)),
            "codes": _spread(map(codes_of, map(folded.__getitem__, numeric)), numeric, len(folded)),
        }
        rows = {
            "letters": letters,
            "words": _ones(text, word, (len(folded), count)),
            "order": _ones(text[1:][within], neighbours, (len(folded), count**2)),
        }
        return cls(
            rows | {kind: each for kind, (each, _) in kinds.items()},
            {"grams": grams, "marks": names, "words": vocabulary} | {kind: each for kind, (_, each) in kinds.items()},
            np.array(numeric, np.int64),
            [pieces[row] for row in numeric],
            prefixes_of(squeezed),
            np.fromiter(map(len, squeezed), np.float32, len(squeezed)),
        )

    @property
    def vocabulary(self) -> "Vocabulary":
        """Terms of the block."""
        frequency = {
            kind: np.bincount(self.rows[kind].indices, minlength=self.rows[kind].shape[1])
            for kind in ("letters", "words")
        }
        return Vocabulary(len(self.length), self.names, frequency)


@dataclass(frozen=True)
class Vocabulary:
    """Terms of N texts, by which those of each block have the same columns.

    Args:
        texts: N.
        names: by kind the terms, in their order.
        frequency: texts that have each of the `letters`, trigrams before symbols, and of the `words`.
    """

    texts: int
    names: Mapping[str, list[str]]
    frequency: Mapping[str, NDArray[np.int64]]

    @classmethod
    def merged(cls, parts: Sequence["Vocabulary"]) -> "Vocabulary":
        """Return the terms of several blocks."""
        names = {kind: sorted(set[str]().union(*(part.names[kind] for part in parts))) for kind in parts[0].names}
        whole = cls(sum(part.texts for part in parts), names, {})
        sizes = {"letters": len(names["grams"]) + len(names["marks"]), "words": len(names["words"])}
        frequency = {kind: np.zeros(size, np.int64) for kind, size in sizes.items()}
        for part in parts:
            for kind, total in frequency.items():
                total[whole.columns(kind, part.names)] += part.frequency[kind]
        return cls(whole.texts, names, frequency)

    @cached_property
    def place(self) -> Mapping[str, Mapping[str, int]]:
        """By kind, the number of each term."""
        return {kind: {name: number for number, name in enumerate(names)} for kind, names in self.names.items()}

    def columns(self, kind: str, names: Mapping[str, list[str]]) -> NDArray[np.int64]:
        """Return (T,) numbers of the terms of a kind that are named, ascending as the names do."""
        if kind == "letters":
            return np.append(self.columns("grams", names), len(self.names["grams"]) + self.columns("marks", names))
        return np.fromiter(map(self.place[kind].__getitem__, names[kind]), np.int64, len(names[kind]))

    def idf(self, kind: str) -> NDArray[np.float32]:
        """Return (T,) idf of letters or words."""
        return np.asarray(np.log((1 + self.texts) / (1 + self.frequency[kind])) + 1, np.float32)

    @cached_property
    def _codes(self) -> Mapping[int, tuple[NDArray[np.uint64], NDArray[np.int64]]]:
        """By size, sorted hashes of the codes, and their numbers."""
        codes, hashes = self.names["codes"], {}
        sizes = np.fromiter(map(len, codes), np.int64, len(codes))
        for size in np.unique(sizes).tolist():
            wanted = np.flatnonzero(sizes == size)
            keys = _code_hashes([codes[code] for code in wanted.tolist()], size)
            order = np.argsort(keys)
            hashes[size] = keys[order], wanted[order]
        return hashes

    def rows(self, block: TermsOfBlock) -> dict[str, Any]:
        """Return what `Terms` has of the texts of a block, by name, and (h,) cells of `halves`."""
        texts, words = len(block.length), len(self.names["words"])
        columns = {kind: self.columns(kind, block.names) for kind in block.rows if kind != "order"}
        rows = {}
        for kind, column in columns.items():  # which ascend as before
            its, shape = block.rows[kind], (texts, len(self.frequency.get(kind, self.names.get(kind, ()))))
            rows[kind] = narrow(its.data, column[its.indices], its.indptr, shape)
        rows["present"] = rows.pop("words")
        rows["letters"] = _weighed(rows["letters"], self.idf("letters"))
        rows["words"] = unit(rows["present"].multiply(self.idf("words")).tocsr().astype(np.float32))
        within, word = max(len(columns["words"]), 1), columns["words"]
        order = block.rows["order"]
        pairs, number = np.unique(order.indices, return_inverse=True)
        halves = [word[half] for half in np.divmod(pairs.astype(np.int64), within)]
        both = (halves[0] * words + halves[1])[number]
        rows["order"] = narrow(order.data, both, order.indptr, (texts, words**2))
        ends = (map(self.names["words"].__getitem__, half.tolist()) for half in halves)
        find = self.place["words"].get
        whole = np.fromiter((find(one + other, -1) for one, other in zip(*ends, strict=True)), np.int64, len(pairs))
        text, some = np.repeat(np.arange(texts), np.diff(order.indptr)), whole >= 0
        rows["joined"] = _ones(text[some[number]], whole[number][some[number]], (texts, words))
        rows["halves"] = np.unique(np.concatenate([whole[some] * words + half[some] for half in halves]))
        text, code = _contained(block.pieces, self._codes)
        rows["contained"] = _ones(block.numeric[text], code, (texts, len(self.names["codes"])))
        return {**rows, "prefix": block.prefix, "length": block.length}

    def forms(self, halves: NDArray[np.int64]) -> dict[str, Any]:
        """Return what `Terms` has of forms of the words, from cells of `halves`, some of which are given twice."""
        words = self.names["words"]
        spelt, crowded = _spelt(words)
        whole, half = np.divmod(halves, max(len(words), 1))
        halved = _ones(whole, half, (len(words),) * 2)
        return {"spelt": spelt, "begins": _begins(words), "halves": halved, "crowded": crowded}

    def terms(self, rows: Mapping[str, Any], forms: Mapping[str, Any], shortened: int) -> Terms:
        """Return terms of the N texts, from their rows as of `rows`, and `forms`."""
        grams = self.names["grams"] + self.names["marks"]
        of_all = {"texts": self.texts, "grams": grams, "idf": self.idf("words"), "vocabulary": self.names["words"]}
        return Terms(**{**of_all, **rows, **forms, "shortened": shortened})


def narrow(data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]) -> Csr:
    """Return CSR with numbers of 32 bits if these suffice: SciPy widens both sorts to that of the wider."""
    fits = np.int32 if max(shape[1], len(data)) < 2**31 else np.int64
    return sparse.csr_array((data, indices.astype(fits, copy=False), indptr.astype(fits, copy=False)), shape=shape)


def stacked(parts: list[Any]) -> Any:
    """Return rows, dense or CSR, one block after another."""
    return np.concatenate(parts) if isinstance(parts[0], np.ndarray) else sparse.csr_array(sparse.vstack(parts, "csr"))


def squeeze(text: str) -> str:
    """Return the letters and digits of a text with plain numbers, and the points of decimals."""
    return SQUEEZED.sub(r"\1", text)


def long_texts(texts: Sequence[str], count: int) -> tuple[int, list[int], Counter[str]]:
    """Return long texts, of all `count` or of some of them.

    They have more distinct words than each text may have, so that all have `WORDS`, or each one `FEWEST`.

    Returns:
        Most words of a text, the numbers of the long ones, and how many of these have each word.
    """
    most = max(FEWEST, WORDS // max(count, 1))
    long, frequency = [], Counter[str]()
    for row, text in enumerate(texts):
        if len(text) > 2 * most and len(words := set(WORD.findall(text))) > most:
            long.append(row)
            frequency.update(words)
    return most, long, frequency


def shorten(texts: list[str], long: Sequence[int], frequency: Mapping[str, int], most: int) -> None:
    """Leave out of long texts the words that most of these have, so that each keeps `most`."""
    for row in long:
        pieces = AROUND.split(texts[row])  # every second one is a word
        kept = sorted(sorted(set(pieces[1::2])), key=frequency.__getitem__)[:most]
        pieces[1::2] = map(dict(zip(kept, kept, strict=True)).get, pieces[1::2], repeat(""))
        texts[row] = "".join(pieces)


def incidence(terms: Iterable[Sequence[str]]) -> tuple[Csr, list[str]]:
    """Return (N, T) CSR of float32 with 1 where a text has a term, and the T terms in their order."""
    number, lengths, vocabulary = _numbered(terms)
    text = np.repeat(np.arange(len(lengths)), lengths)
    return _ones(text, number, (len(lengths), len(vocabulary))), vocabulary


def _numbered(terms: Iterable[Sequence[str]]) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
    """Return (E,) numbers of the terms of all texts, one after another, (N,) terms of a text, and these in order."""
    place: defaultdict[str, int] = defaultdict(count().__next__)
    terms, lengths, found = iter(terms), [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    while rows := list(islice(terms, READ)):
        lengths.append(np.fromiter(map(len, rows), np.int64, len(rows)))
        found.append(np.fromiter(map(place.__getitem__, chain.from_iterable(rows)), np.int32, lengths[-1].sum()))
    vocabulary = sorted(place)
    rank = np.argsort(np.fromiter(map(place.__getitem__, vocabulary), np.int64, len(vocabulary)))
    return rank[np.concatenate(found)], np.concatenate(lengths), vocabulary


def _ones(row: NDArray[np.int64], column: NDArray[np.int64], shape: tuple[int, int]) -> Csr:
    """Return CSR of float32 with 1 in these cells, of which some may be given twice."""
    cells = np.sort(row * max(shape[1], 1) + column)
    cells = cells[np.diff(cells, prepend=-1) > 0]
    row, column = np.divmod(cells, max(shape[1], 1))
    indptr = np.searchsorted(row, np.arange(shape[0] + 1))
    return narrow(np.ones(len(cells), np.float32), column, indptr, shape)


def _spread(terms: Iterable[Sequence[str]], rows: Sequence[int], count: int) -> tuple[Csr, list[str]]:
    """Return incidence, as `incidence` gives it, of terms of some of the rows; the others have none."""
    some, vocabulary = incidence(terms)
    entries = np.zeros(count + 1, np.int64)
    entries[1 + np.array(rows, np.int64)] = np.diff(some.indptr)
    return narrow(some.data, some.indices, np.cumsum(entries), (count, some.shape[1])), vocabulary


def _begins(vocabulary: Sequence[str]) -> Csr:
    """Return (W, W) 1 where the second word is a beginning of the first, which has `LONG` letters or more."""
    place = {word: number for number, word in enumerate(vocabulary)}
    rows, columns = [], []
    for number, word in enumerate(vocabulary):
        if len(word) >= LONG and word.isalpha():
            found = [
                place[start] for size in range(1, min(len(word), BEGINNING + 1)) if (start := word[:size]) in place
            ]
            rows.append(np.full(len(found), number))
            columns += found
    return _ones(np.concatenate([np.empty(0, np.int64), *rows]), np.array(columns, np.int64), (len(vocabulary),) * 2)


def letter_rows(folded: Sequence[str]) -> tuple[Csr, list[str]]:
    """Return (N, T) TF-IDF of trigrams and symbols, of unit length, of texts in their normal form, and these terms."""
    counts, grams, marks = _letters(folded, list(map(symbols, folded)))
    frequency = {"letters": np.bincount(counts.indices, minlength=counts.shape[1])}
    return _weighed(counts, Vocabulary(len(folded), {}, frequency).idf("letters")), grams + marks


def _letters(folded: Sequence[str], marks: Sequence[Sequence[str]]) -> tuple[Csr, list[str], list[str]]:
    """Return (N, T) counts of trigrams and, after these, of symbols; and both sorts of terms."""
    counts, grams = sparse.csr_array((len(folded), 0), dtype=np.float32), list[str]()
    if any(map(WORD.search, folded)):
        hashing = WordHashing(3).fit(folded)
        counts, grams = hashing.transform(folded).to_scipy(), hashing.letter_grams_
    number, lengths, names = _numbered(marks)
    row = np.repeat(np.arange(len(lengths)), lengths)
    of_marks = sparse.csr_array((np.ones(len(row), np.float32), (row, number)), (len(folded), len(names)))
    return sparse.csr_array(sparse.hstack([counts, of_marks], "csr")), grams, names


def _weighed(counts: Csr, idf: NDArray[np.float32]) -> Csr:
    """Return counts times idf, at unit length."""
    return sparse.csr_array(weighted(counts, diagonal(idf)).to_scipy())


def reweighed(terms: Terms, *, letters: NDArray[np.float32], words: NDArray[np.float32]) -> Terms:
    """Return terms with another idf of each letter trigram and of each word, in place of those of these texts."""
    frequency = np.bincount(terms.letters.indices, minlength=terms.letters.shape[1])
    factor = letters / (np.log((1 + terms.letters.shape[0]) / (1 + frequency)) + 1)
    rows = terms.letters.copy()
    rows.data *= factor.astype(np.float32)[rows.indices]
    weighted = terms.present.multiply(words).tocsr().astype(np.float32)
    return replace(terms, letters=unit(rows), words=unit(weighted), idf=words)


def unit(rows: Csr) -> Csr:
    """Return the rows, scaled in place to unit length."""
    length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    scale = np.divide(1, length, out=np.zeros_like(length), where=length > 0)
    rows.data *= np.repeat(scale, np.diff(rows.indptr)).astype(np.float32)
    return rows


def _plain(number: str) -> str:
    """Return a number without zeros before it, with its sign."""
    digits = number.lstrip(MINUS + "0") or "0"
    return "-" * (not number[0].isdecimal()) + "0" * digits.startswith(".") + digits


def codes_of(text: str) -> list[str]:
    """Return codes of a text, without their signs."""
    found = (squeeze(code) for code in CODE.findall(text) if DIGIT.search(code))
    return [code for code in found if len(code) - code.count(".") in CODE_LENGTHS]


def numbers_of(parts: Sequence[str]) -> list[str]:
    """Return numbers among the parts of a text, without zeros that say nothing."""
    return [_plain(part) for part in parts if part[-1].isdecimal()]


def is_sign(symbol: str) -> bool:
    """Return true if texts contradict by it: a sign of mathematics, money or charge, or as of `C++` and `C#`."""
    return symbol[0] in SIGNS or category(symbol[0]) in ("Sc", "Sm")


def measures_of(parts: Sequence[str]) -> list[tuple[str, str]]:
    """Return numbers with the short word after them, or else the word before them."""
    found = []
    for place, part in enumerate(parts):
        if part[-1].isdecimal():
            after = parts[place + 1] if place + 1 < len(parts) else "0"
            if not after[-1].isdecimal() and len(after) <= UNIT:
                found.append((after, _plain(part)))
            elif place and not parts[place - 1][-1].isdecimal():
                found.append(("<" + parts[place - 1], _plain(part)))
    return found


def as_compared(folded: str) -> str:
    """Write the numbers of a text in one notation, and leave out links with codes where it says more than these.

    The same post has another short link each time, which would count as a code that contradicts.

    Args:
        folded: the text in its normal form.

    Examples:
        >>> from twicetold.matching.terms import as_compared
        >>> as_compared("new tent for 1,299.00 at https://t.co/x7q2 today")
        'new tent for 1299 at   today'
    """
    if "://" in folded and len((rest := LINK.sub(" ", folded)).split()) >= BESIDE_LINKS:
        folded = rest
    return plain_numbers(folded)


def compared_in_words(one: str, other: str) -> list[str]:
    """Describe what two texts have in common, and what only one of them has.

    Examples:
        >>> from twicetold.matching.terms import compared_in_words
        >>> compared_in_words("Onkyo TX-SR706, 500 W", "onkyo txsr706 800 W")
        ['2 of 7 words in both', 'same code: txsr706', 'numbers differ: 500 and 800']
    """
    one, other = map(as_compared, normal_form([one, other]))
    words, others = set(WORD.findall(one)), set(WORD.findall(other))
    told = [f"{len(words & others)} of {len(words | others)} words in both"]
    codes = set(codes_of(one)), set(codes_of(other))
    squeezed = squeeze(one), squeeze(other)
    numbers = [set(numbers_of(PART.findall(CODE.sub(_without_code, side)))) for side in (one, other)]
    same = {code for code in codes[0] | codes[1] if code in squeezed[0] and code in squeezed[1]}
    for noun, both, sides in (("code", same, codes), ("number", numbers[0] & numbers[1], numbers)):
        mine, theirs, shared = (", ".join(sorted(some)[:TOLD]) for some in (sides[0] - both, sides[1] - both, both))
        told += [f"same {noun}: {shared}"] if shared else []
        if mine and theirs:
            told.append(f"{noun}s differ: {mine} and {theirs}")
        elif mine or theirs:
            told.append(f"{noun} in one text only: {mine or theirs}")
    return told


def _without_code(run: re.Match[str]) -> str:
    return " " if codes_of(run[0]) else run[0]


def prefixes_of(squeezed: Sequence[str]) -> NDArray[np.integer]:
    """Return (n, PREFIX) code points of the first letters and digits, 0 beyond the end."""
    fixed = np.array([text[:PREFIX] for text in squeezed], f"<U{PREFIX}").view(np.int32)
    return fixed.astype(np.min_scalar_type(fixed.max(initial=0))).reshape(len(squeezed), PREFIX)


def _longer(hashes: NDArray[np.uint64], letters: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Return hashes of windows that are one letter longer."""
    hashes = (hashes + letters) * MULTIPLIER
    return hashes ^ (hashes >> np.uint64(29))


def _contained(
    pieces: Sequence[str], codes: Mapping[int, tuple[NDArray[np.uint64], NDArray[np.int64]]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return texts and the codes that they contain, by hashes of all windows of a code's length that hold a digit.

    A number is not cut: `eos70` is not in `eos700`, but it is in `eos-70 12 mp`.

    Args:
        pieces: squeezed texts with 0 where they were joined.
        codes: sorted hashes and numbers, by size.
    """
    block = np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces))) // SEARCHED
    edges = np.flatnonzero(np.diff(block, prepend=-1, append=np.iinfo(np.int64).max)).tolist() if codes else []
    found = [(np.empty(0, np.int64),) * 2]
    for start, stop in pairwise(edges):
        text, code = _codes_within(pieces[start:stop], codes)
        found.append((start + text, code))
    rows, columns = map(np.concatenate, zip(*found, strict=True))
    return rows, columns


def _codes_within(
    pieces: Sequence[str], codes: Mapping[int, tuple[NDArray[np.uint64], NDArray[np.int64]]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Texts and the codes that they contain, from sorted hashes of codes and their numbers by size."""
    points = _points(pieces)
    letters, joined = points[points > 0], np.append(True, points[:-1] == 0)[points > 0]
    text = np.repeat(np.arange(len(pieces)), np.fromiter(map(len, pieces), np.int64, len(pieces)))[points > 0]
    ends = np.searchsorted(text, text, side="right")
    joined[1:] |= text[1:] != text[:-1]
    digit = (letters >= ord("0")) & (letters <= ord("9"))
    digits = np.concatenate([[0], np.cumsum(digit)])
    cut = np.append(digit & np.append(False, digit[:-1]) & ~joined, False)  # between two digits of one number
    start = np.arange(len(letters))
    start = start[(digits[np.minimum(start + max(codes), ends)] > digits[:-1]) & ~cut[:-1]]  # no code begins elsewhere
    hashes = np.zeros(len(start), np.uint64)
    rows, columns = [], []
    for size in range(1, max(codes) + 1):
        whole = start + size <= ends[start]
        start, hashes = start[whole], hashes[whole]
        hashes = _longer(hashes, letters[start + size - 1])
        if size in codes:
            keys, number = codes[size]
            place = np.minimum(np.searchsorted(keys, hashes), len(keys) - 1)
            there = (keys[place] == hashes) & ~cut[start + size]
            rows.append(text[start[there]])
            columns.append(number[place[there]])
    return np.concatenate(rows), np.concatenate(columns)


def _points(texts: Sequence[str]) -> NDArray[np.uint32]:
    """Return code points of all texts, one after another."""
    return np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)


def _code_hashes(codes: Sequence[str], size: int) -> NDArray[np.uint64]:
    hashes = np.zeros(len(codes), np.uint64)
    for column in _points(codes).reshape(-1, size).T:
        hashes = _longer(hashes, column)
    return hashes


def _spelt(vocabulary: Sequence[str]) -> tuple[Csr, int]:
    """Find words that a deletion makes equal: of a letter of one, or of one of each.

    Returns:
        (W, W) 1 where two words are, and the number of words that were not compared with all others, as a deletion
        makes more than `CROWD` equal.
    """
    by_key, _ = incidence(map(spellings_of, vocabulary))
    crowded = np.bincount(by_key.indices, minlength=by_key.shape[1]) > CROWD
    cut = int(np.count_nonzero(np.diff(by_key[:, crowded].indptr)))
    by_key = by_key[:, ~crowded]
    near = (by_key @ by_key.T).tocsr()
    near.setdiag(0)
    near.eliminate_zeros()
    near.sort_indices()  # as a product does not, and then rows of them are multiplied slowly
    near.data[:] = 1
    return near, cut


def spellings_of(word: str) -> list[str]:
    """Return a word, and what is left of it without each of its letters; nothing of words that are not compared."""
    if len(word) not in SPELT or not word.isalpha():
        return []
    return [word, *(word[:at] + word[at + 1 :] for at in range(len(word)))]
