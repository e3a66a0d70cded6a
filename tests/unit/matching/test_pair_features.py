"""Each feature of a pair against a naive formula over two texts and their neighbours."""

import math
import re
from itertools import accumulate, combinations, product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from twicetold.matching.candidates import Pairs
from twicetold.matching.pair_features import pair_features
from twicetold.matching.terms import Terms

PLAIN = {"1,250": "1250", "12,5": "12.5", "5.0": "5", "m6x1.0": "m6x1"}  # other notations, as they are read
SYMBOLS = {"c++": "+ ++", "c#": "#", "€5": "€", "$5": "$", "-5": "-", "+5": "+", "&": "&", "salt@sea": "@"}
WORDS = ["canon", "cannon", "canom", "noncan", "eos", "eos70d", "70d", "tx-sr706", "tx.sr706", "m6x1", "a", "red", "kg"]
WORDS += [
    "12",
    "12.5",
    "125",
    "1250",
    "5",
    "404.237.7601",
    "404-2377601",
    "gram",
    "12kg",
    "05",
    "1251",
    "photographicequipment",
    "photographic",
    "equipment",
    "can",
    "c",
    "ared",
    "it's",
]
TEXTS = st.lists(
    st.lists(st.sampled_from([*WORDS, *PLAIN, *SYMBOLS]), min_size=1, max_size=6).map(" ".join), min_size=2, max_size=5
)


def plain(text):
    return " ".join(PLAIN.get(piece, piece) for piece in text.split())


def tokens(text):
    return re.findall(r"[^\W_]+", plain(text))


def squeezed(text):
    """Letters and digits; the point stays in decimals."""
    pieces = (re.sub(r"[^\w.]", "", piece) for piece in plain(text).split())
    return "".join(piece if re.fullmatch(r"[^.]*\d\.\d+", piece) else piece.replace(".", "") for piece in pieces)


def codes(text):
    found = {squeezed(piece) for piece in text.split() if re.search(r"\d", piece)}
    return {code for code in found if 4 <= len(code.replace(".", "")) <= 16}


def holds(text, code):
    """Whether a code is in the letters and digits of a text, and cuts no number."""
    pieces = [squeezed(piece) for word in plain(text).split() for piece in split_at_marks(word)]
    letters, edges = "".join(pieces), set(accumulate(map(len, pieces), initial=0))

    def cuts(at):
        return at not in edges and letters[at - 1].isdigit() and letters[at].isdigit()

    places = [at for at in range(len(letters)) if letters.startswith(code, at)]
    return any(not cuts(at) and not cuts(at + len(code)) for at in places)


def split_at_marks(word):
    """Pieces of a word between its marks; a decimal is one piece."""
    return [word] if re.fullmatch(r"[^.\W]*\d\.\d+", word) else re.split(r"[\W_]+", word)


def numbers_and_measures(text):
    """Values, and pairs of each with the unit after it, or else the word before it."""
    parts = re.findall(r"(?:^|(?<= ))-\d+|\d+(?:\.\d+)?|[a-z]+", plain(text))
    value = [None if part.isalpha() else float(part) for part in parts]
    measures = set()
    for place in (place for place, each in enumerate(value) if each is not None):
        before, after = parts[:place][-1:], parts[place + 1 :][:1]
        if after and after[0].isalpha() and len(after[0]) <= 3:
            measures.add((after[0], value[place]))
        elif before and before[0].isalpha():
            measures.add(("after " + before[0], value[place]))
    return {each for each in value if each is not None}, measures


def symbols(text):
    return {symbol for piece in text.split() for symbol in SYMBOLS.get(piece, "").split()}


def spelt_alike(one, other):
    keys = [{word} | set(map("".join, combinations(word, len(word) - 1))) for word in (one, other)]
    return all(word.isalpha() and 4 <= len(word) <= 20 for word in (one, other)) and bool(keys[0] & keys[1])


def begins(word, start):
    return len(word) > 2 and word.isalpha() and word != start and word.startswith(start)


def neighbours(text):
    return set(zip(tokens(text), tokens(text)[1:], strict=False))


def idf(texts):
    """From a word to its idf, as a share of that of a word of one text."""
    every = {word for text in texts for word in tokens(text)}
    one = math.log((1 + len(texts)) / 2) + 1
    found = {word: sum(word in tokens(text) for text in texts) for word in every}
    return {word: (math.log((1 + len(texts)) / (1 + count)) + 1) / one for word, count in found.items()}


def ends(name, one, other):
    return {f"{name}_smaller": min(one, other), f"{name}_larger": max(one, other)}


def share(part, whole, empty=0.0):
    return part / whole if whole else empty


def of_words(texts, one, other):
    rare = idf(texts)
    left, right = set(tokens(one)), set(tokens(other))

    def weight(words):
        return sum(rare[word] for word in words)

    both, mine, theirs = weight(left & right), weight(left - right), weight(right - left)
    follow = [neighbours(text) for text in (one, other)]
    every = set().union(*map(neighbours, texts))

    def in_two_words(whole, half, theirs):
        return {whole} & set(map("".join, theirs)) and any(whole == "".join(each) and half in each for each in every)

    alike = [
        (word, their)
        for word, their in product(left - right, right - left)
        if spelt_alike(word, their)
        or begins(word, their)
        or begins(their, word)
        or in_two_words(word, their, follow[1])
        or in_two_words(their, word, follow[0])
    ]
    square = [sum(rare[word] ** 2 for word in words) for words in (left, right)]
    return {
        "words": share(sum(rare[word] ** 2 for word in left & right), math.sqrt(math.prod(square))),
        "shared_of_smaller": share(both, both + min(mine, theirs)),
        "shared_of_larger": share(both, both + max(mine, theirs)),
        "shared_weight": math.log1p(both),
        "shared_rarest": max((rare[word] for word in left & right), default=0),
        "alike_share": share(sum(map(weight, map(set, zip(*alike, strict=True)))), mine + theirs),
        "order_share": share(len(follow[0] & follow[1]), min(map(len, follow))),
        **ends("unshared_weight", math.log1p(mine), math.log1p(theirs)),
        **ends(
            "unshared_rarest",
            max((rare[word] for word in left - right), default=0),
            max((rare[word] for word in right - left), default=0),
        ),
        **ends("unshared_words", math.log1p(len(left - right)), math.log1p(len(right - left))),
    }


def of_codes(one, other):
    left, right = codes(one), codes(other)
    found_left, found_right = (
        {code for code in some if holds(text, code)} for some, text in ((left, other), (right, one))
    )
    mine, theirs, agree = len(left - found_left), len(right - found_right), max(len(found_left), len(found_right))
    return {
        "codes_agree": min(agree, 3),
        "codes_any": agree > 0,
        "codes_contradict": bool(mine and theirs),
        "codes_contradict_all": bool(mine and theirs and not agree),
        **ends("codes_alone", min(mine, 3), min(theirs, 3)),
    }


def of_numbers(one, other):
    (left, measures), (right, others) = map(numbers_and_measures, (one, other))
    differ = bool(left - right and right - left)
    signs = [symbols(text) - {"&", "@"} for text in (one, other)]
    mine, theirs = signs[0] - signs[1], signs[1] - signs[0]
    opposite, agree = bool(mine and theirs), len(measures & others)
    units = len({unit for unit, _ in measures} & {unit for unit, _ in others})
    return {
        "numbers_agree": 0 if opposite else math.log1p(len(left & right)),
        "numbers_contradict": differ,
        "numbers_contradict_all": differ and not left & right,
        "signs_contradict": opposite,
        **ends("numbers_alone", math.log1p(len(left - right) + len(mine)), math.log1p(len(right - left) + len(theirs))),
        "units_agree": math.log1p(agree),
        "units_contradict": math.log1p(max(units - agree, 0)),
        "symbols_differ": math.log1p(len((symbols(one) ^ symbols(other)) & {"&", "@"})),
    }


def of_shape(one, other):
    left, right = squeezed(one), squeezed(other)
    same = next(
        (place for place, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
    )
    return {
        "length_ratio": share(min(len(left), len(right)), max(len(left), len(right)), 1),
        "length": math.log1p(min(len(left), len(right))),
        "prefix_share": share(min(same, 48), min(len(left), len(right), 48)),
        "squeezed_equal": left == right and len(left) <= 48,
    }


@given(TEXTS)
@example(["the 1250 red-5", "the 1251 rad 5"])
@example(["c photographic equipment", "canon photographicequipment", "photographicequip ment"])
@example(["eos70d tx-sr706 404-2377601 m6x1.25"] * 2)
def test_features_of_two_texts_are_those_of_naive_formulas(texts):
    left, right = np.triu_indices(len(texts), 1)
    pairs = Pairs(len(texts), left, right, np.zeros(len(left), np.float32), None)
    columns = pair_features(Terms.of(texts), pairs)
    for place, (a, b) in enumerate(zip(left, right, strict=True)):
        one, other = texts[a], texts[b]
        naive = of_words(texts, one, other) | of_codes(one, other) | of_numbers(one, other) | of_shape(one, other)
        for name, value in naive.items():
            assert columns[name][place] == pytest.approx(float(value), abs=1e-5), (name, one, other)


@given(
    st.integers(2, 6).flatmap(
        lambda n: st.lists(
            st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=n * (n - 1) // 2, max_size=n * (n - 1) // 2
        ).map(lambda values: (n, values))
    ),
    st.data(),
)
def test_standing_is_that_among_all_candidates_of_both_texts(drawn, data):
    count, values = drawn
    left, right = np.triu_indices(count, 1)
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=len(left), max_size=len(left)).filter(any)))
    left, right, value = left[kept], right[kept], np.array(values, np.float32)[kept]
    similarity = {"lexical": value, "cosine": 1 - value}
    columns = pair_features(Terms.of(["one text"] * count), Pairs(count, left, right, *similarity.values()))
    for kind, values in similarity.items():
        by_pair = dict(zip(zip(left.tolist(), right.tolist(), strict=True), values, strict=True))
        for place, naive in enumerate(standings(count, by_pair)):
            for name, worth in naive.items():
                assert columns[f"{kind}_{name}"][place] == pytest.approx(float(worth), abs=1e-5), name


def standings(count, similarity):
    """That of each pair."""
    of = [{pair: value for pair, value in similarity.items() if text in pair} for text in range(count)]
    seconds = [sorted(each.values())[-2] for each in of if len(each) > 1]
    for pair, value in similarity.items():
        others = [[v for other, v in of[text].items() if other != pair] for text in pair]
        rank = [math.log1p(sum(v > value for v in some)) for some in others]
        yield {
            **ends("rank", *rank),
            **ends("gap", *(value - max(some, default=0) for some in others)),
            **ends("above", *(value - (sum(some) / len(some) if some else 0) for some in others)),
            "mutual": not any(rank),
            "over": value - (np.median(seconds) if seconds else 0),
        }
