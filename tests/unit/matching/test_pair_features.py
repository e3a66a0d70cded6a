"""Each feature of a pair against a naive formula over two texts and their neighbours."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twicetold.matching.candidates import Pairs
from twicetold.matching.pair_features import pair_features
from twicetold.matching.terms import Terms, codes_of, measures_of, numbers_of, spellings_of

WORDS = ["canon", "cannon", "canom", "eos", "eos70d", "70d", "tx-sr706", "txsr706", "12", "1.5", "kg", "gb", "a", "red"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join), min_size=2, max_size=6)


def tokens(text):
    return re.findall(r"[^\W_]+", text)


def parts(text):
    return re.findall(r"\d+(?:\.\d+)?|[^\W\d_]+", text)


def squeezed(text):
    return re.sub(r"(?<![\d.])(\d+\.\d+)(?!\.?\d)|[\W_]+", r"\1", text)


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

    def spelt(words, others):
        return [word for word in words if any(set(spellings_of(word)) & set(spellings_of(each)) for each in others)]

    both, mine, theirs = weight(left & right), weight(left - right), weight(right - left)
    near = (weight(spelt(left - right, right - left)) + weight(spelt(right - left, left - right))) / 2
    follow = [set(zip(tokens(text), tokens(text)[1:], strict=False)) for text in (one, other)]
    square = [sum(rare[word] ** 2 for word in words) for words in (left, right)]
    return {
        "words": sum(rare[word] ** 2 for word in left & right) / math.sqrt(math.prod(square)),
        "shared_of_smaller": share(both, both + min(mine, theirs)),
        "shared_of_larger": share(both, both + max(mine, theirs)),
        "shared_weight": math.log1p(both),
        "shared_rarest": max((rare[word] for word in left & right), default=0),
        "spelt_share": share(near, min(mine, theirs)),
        "spelt_weight": math.log1p(near),
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
    left, right = set(codes_of(one)), set(codes_of(other))
    found_left, found_right = (
        {code for code in codes if code in squeezed(text)} for codes, text in ((left, other), (right, one))
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
    left, right = set(numbers_of(parts(one))), set(numbers_of(parts(other)))
    measures = [set(measures_of(parts(text))) for text in (one, other)]
    units = len({unit for unit, _ in measures[0]} & {unit for unit, _ in measures[1]})
    agree = len(measures[0] & measures[1])
    return {
        "numbers_agree": math.log1p(len(left & right)),
        "numbers_contradict": bool(left - right and right - left),
        "numbers_contradict_all": bool(left - right and right - left and not left & right),
        **ends("numbers_alone", math.log1p(len(left - right)), math.log1p(len(right - left))),
        "units_agree": math.log1p(agree),
        "units_contradict": math.log1p(max(units - agree, 0)),
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
    columns = pair_features(Terms.of(["one text"] * count), Pairs(count, left, right, value, None))
    of = {
        text: {(a, b): v for a, b, v in zip(left, right, value, strict=True) if text in (a, b)} for text in range(count)
    }
    seconds = [sorted(each.values())[-2] for each in of.values() if len(each) > 1]
    for place, pair in enumerate(zip(left, right, strict=True)):
        rank, gap, above = [], [], []
        for text in pair:
            others = [v for other, v in of[text].items() if other != pair]
            rank.append(math.log1p(sum(v > value[place] for v in others)))
            gap.append(value[place] - max(others, default=0))
            above.append(value[place] - (sum(others) / len(others) if others else 0))
        naive = ends("lexical_rank", *rank) | ends("lexical_gap", *gap) | ends("lexical_above", *above)
        naive["lexical_mutual"] = not any(rank)
        naive["lexical_over"] = value[place] - (np.median(seconds) if seconds else 0)
        for name, worth in naive.items():
            assert columns[name][place] == pytest.approx(float(worth), abs=1e-5), name
